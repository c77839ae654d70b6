"""The other side of the packing benchmark: pyarrow's own JSON reader and Parquet writer.

Usage: pack.py job|job-ahead CORPUS OUT | write|write-plain PARQUET OUT | compare A B; prints JSON.
"""

import concurrent.futures
import datetime
import json
import os
import pathlib
import sys
import time

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj
import pyarrow.parquet as pq

ROW_GROUP = 1 << 20
NUMBERS = ["x", "y", "vx", "vy", "dx", "dy"]
LABELS = ["session_id", "session", "kind", "button", "key"]
# What the packer writes, as far as pyarrow offers it.
SAME = {
    "compression": "zstd",
    "compression_level": 1,
    "use_dictionary": LABELS,
    "column_encoding": {c: "DELTA_BINARY_PACKED" for c in ["t_ns", "utc"]} | {c: "BYTE_STREAM_SPLIT" for c in NUMBERS},
    "write_page_index": True,
}
PLAIN = {"compression": "zstd", "compression_level": 1}
LINE = pa.schema(
    [("t_ns", pa.int64()), ("kind", pa.string())] + [(c, pa.float64()) for c in ["x", "y", "vx", "vy"]]
    + [("button", pa.string()), ("dx", pa.float64()), ("dy", pa.float64()), ("key", pa.string())]
)
UTC = pa.timestamp("us", tz="UTC")


def sessions(corpus):
    found = []
    for kind in ["request", "edit"]:
        for path in corpus.glob(f"{kind}s/*/input.jsonl"):
            manifest = json.loads((path.parent / f"{kind}.json").read_text())
            start = datetime.datetime.fromisoformat(manifest["session"]["clock"]["started_utc"])
            found.append((path.parent.name, kind, path, int(start.timestamp() * 1_000_000)))
    return sorted(found)


def read(session):
    name, kind, path, start = session
    t = pj.read_json(
        path,
        read_options=pj.ReadOptions(use_threads=True, block_size=4 << 20),
        parse_options=pj.ParseOptions(explicit_schema=LINE, unexpected_field_behavior="ignore"),
    ).combine_chunks()
    at = t["t_ns"]
    if not pc.all(pc.less_equal(at.slice(0, len(at) - 1), at.slice(1))).as_py():
        t = t.sort_by("t_ns")
    utc = pc.add(pc.divide(t["t_ns"], 1000), start).cast(UTC)
    columns = [pa.repeat(pa.scalar(name), len(t)), pa.repeat(pa.scalar(kind), len(t)), t["t_ns"], utc]
    return pa.table(columns + t.columns[1:], names=["session_id", "session", "t_ns", "utc"] + t.column_names[1:])


def write_job(corpus, out, ahead):
    pool = concurrent.futures.ThreadPoolExecutor(1)
    parts = pool.map(read, sessions(corpus)) if ahead else map(read, sessions(corpus))
    writer, held, rows = None, [], 0
    for part in parts:
        held.append(part)
        rows += len(part)
        writer = writer or pq.ParquetWriter(out, part.schema, **SAME)
        if sum(map(len, held)) >= ROW_GROUP:
            table = pa.concat_tables(held)
            whole = len(table) // ROW_GROUP * ROW_GROUP
            writer.write_table(table.slice(0, whole), row_group_size=ROW_GROUP)
            held = [table.slice(whole)]
    writer.write_table(pa.concat_tables(held), row_group_size=ROW_GROUP)
    writer.close()
    return rows


def sync(path):
    with open(path, "rb") as f:
        os.fsync(f.fileno())


def peak_mb():
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / 1e6


def main(what, source, out):
    source = pathlib.Path(source)
    if what == "compare":
        a, b = pq.read_table(source), pq.read_table(out)
        columns = [c for c in a.column_names if not a[c].cast(b.schema.field(c).type).equals(b[c])]
        return {"equal": a.column_names == b.column_names and not columns, "columns": columns}
    if what.startswith("job"):
        start = time.perf_counter()
        rows = write_job(source, out, what == "job-ahead")
    else:
        table = pq.read_table(source, read_dictionary=LABELS)
        rows = len(table)
        start = time.perf_counter()
        pq.write_table(table, out, row_group_size=ROW_GROUP, **(SAME if what == "write" else PLAIN))
    sync(out)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "rows": rows, "bytes": os.path.getsize(out), "peak_mb": peak_mb()}


print(json.dumps(main(*sys.argv[1:4])))
