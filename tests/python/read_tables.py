"""Reads packed tables with one of the usual readers, and prints what it saw as JSON.

Usage: read_tables.py pyarrow|duckdb|polars|pandas|datasets FOLDER
"""

import json
import os
import pathlib
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_DATASETS_OFFLINE"] = "1"

reader, folder = sys.argv[1], pathlib.Path(sys.argv[2])
files = {p.stem: str(p) for p in sorted(folder.glob("*.parquet"))}
result = {"rows": {}, "said_this": None}
WORD = "this"

if reader == "pyarrow":
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    tables = {name: pq.read_table(path) for name, path in files.items()}
    result["rows"] = {n: t.num_rows for n, t in tables.items()}
    words = tables["words"]
    words = words.filter(pc.and_(pc.equal(words["text"], WORD), pc.equal(words["transcript"].cast("string"), "oracle")))
    moves = tables["events"].filter(pc.is_valid(tables["events"]["x"]))
    # pyarrow's as-of join takes no dictionary columns, and wants both sides in order of time.
    joined = words.select(["request_id", "start_ns"]).sort_by("start_ns").join_asof(
        moves.select(["session_id", "t_ns", "x", "y"]).sort_by("t_ns"),
        on="start_ns",
        by="request_id",
        tolerance=-10_000_000_000,
        right_on="t_ns",
        right_by="session_id",
    )
    result["said_this"] = sorted([r["request_id"], r["x"], r["y"]] for r in joined.to_pylist())
    schema = tables["events"].schema
    result["schema"] = {f.name: str(f.type) for f in schema}
    result["units"] = {f.name: f.metadata[b"unit"].decode() for f in schema if f.metadata and b"unit" in f.metadata}
    result["undocumented"] = [
        f"{n}.{f.name}"
        for n, t in tables.items()
        for f in t.schema
        if not (f.metadata and f.metadata.get(b"description")) and "path" not in str(f.type)
    ]
    meta = pq.ParquetFile(files["events"]).metadata
    column = meta.row_group(0).column
    result["parquet"] = {
        "row_groups": meta.num_row_groups,
        "compression": sorted({column(i).compression for i in range(meta.num_columns)}),
        "t_ns": sorted(column(2).encodings),
        "x": sorted(column(5).encodings),
        "page_index": all(column(i).has_offset_index and column(i).has_column_index for i in range(meta.num_columns)),
        "bloom_filter": [meta.schema.column(i).name for i in range(meta.num_columns) if column(i).bloom_filter_offset]
        if hasattr(column(0), "bloom_filter_offset")
        else None,
        "sorted_by": [s.column_index for s in meta.row_group(0).sorting_columns],
    }
elif reader == "duckdb":
    import duckdb

    for name, path in files.items():
        duckdb.sql(f"create view {name} as select * from read_parquet('{path}')")
        result["rows"][name] = duckdb.sql(f"select count(*) from {name}").fetchall()[0][0]
        duckdb.sql(f"select * from {name}").fetchall()
    result["said_this"] = [
        list(r)
        for r in duckdb.sql(
            f"""select w.request_id, e.x, e.y from (select * from words where text = '{WORD}' and transcript = 'oracle') w
            asof join (select * from events where x is not null) e
            on w.request_id = e.session_id and w.start_ns >= e.t_ns order by 1, 2, 3"""
        ).fetchall()
    ]
    result["utc"] = duckdb.sql("select epoch_us(utc) from events where session = 'request' order by session_id, t_ns limit 1").fetchall()[0][0]
    result["bloom_filter"] = [r[0] for r in duckdb.sql(
        f"select path_in_schema from parquet_metadata('{files['events']}') where bloom_filter_offset is not null and row_group_id = 0"
    ).fetchall()]
elif reader == "polars":
    import polars as pl

    tables = {name: pl.read_parquet(path) for name, path in files.items()}
    result["rows"] = {n: t.height for n, t in tables.items()}
    words = tables["words"].filter((pl.col("text") == WORD) & (pl.col("transcript").cast(pl.String) == "oracle")).sort("start_ns")
    moves = tables["events"].filter(pl.col("x").is_not_null()).select("session_id", "t_ns", "x", "y").sort("t_ns")
    joined = words.join_asof(moves, left_on="start_ns", right_on="t_ns", by_left="request_id", by_right="session_id")
    result["said_this"] = sorted([r["request_id"], r["x"], r["y"]] for r in joined.to_dicts())
elif reader == "pandas":
    import pandas as pd

    tables = {name: pd.read_parquet(path) for name, path in files.items()}
    result["rows"] = {n: len(t) for n, t in tables.items()}
    words = tables["words"].query(f"text == '{WORD}' and transcript == 'oracle'").sort_values("start_ns")
    moves = tables["events"].dropna(subset=["x"])[["session_id", "t_ns", "x", "y"]].sort_values("t_ns")
    joined = pd.merge_asof(words, moves, left_on="start_ns", right_on="t_ns", left_by="request_id", right_by="session_id")
    result["said_this"] = sorted([r.request_id, r.x, r.y] for r in joined.itertuples())
elif reader == "datasets":
    import tempfile

    import datasets
    import numpy as np

    with tempfile.TemporaryDirectory() as cache:
        tables = {n: datasets.load_dataset("parquet", data_files=p, split="train", cache_dir=cache) for n, p in files.items()}
        result["rows"] = {n: t.num_rows for n, t in tables.items()}
        result["features"] = {
            f"{n}.{c}": type(f).__name__ for n, t in tables.items() for c, f in t.features.items() if type(f).__name__ != "Value"
        }
        events = tables["events"].filter(lambda e: e["x"] is not None)
        said = []
        for w in tables["words"]:
            if w["text"] == WORD and w["transcript"] == "oracle":
                mine = events.filter(lambda e: e["session_id"] == w["request_id"])
                i = int(np.searchsorted(np.array(mine["t_ns"]), w["start_ns"], side="right")) - 1
                said.append([w["request_id"], mine[i]["x"], mine[i]["y"]])
        result["said_this"] = sorted(said)
        plain = tables["requests"].cast_column("video", datasets.Video(decode=False))
        result["video"] = plain.select_columns(["video"])[0]["video"]
else:
    sys.exit(f"unknown reader {reader}")

json.dump(result, sys.stdout)
