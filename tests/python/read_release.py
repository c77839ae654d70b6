"""Loads every configuration of a release as its card says, and validates its Croissant description.

Usage: read_release.py FOLDER; prints JSON.
"""

import json
import os
import pathlib
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_DATASETS_OFFLINE"] = "1"

import datasets
import mlcroissant
import yaml

folder = pathlib.Path(sys.argv[1])
card = (folder / "README.md").read_text()
front = yaml.safe_load(card.split("---")[1])
result = {"license": front["license"], "configs": {}, "croissant": {}}
with tempfile.TemporaryDirectory() as cache:
    for config in front["configs"]:
        name = config["config_name"]
        loaded = datasets.load_dataset(str(folder), name, cache_dir=cache)
        described = next(i for i in front["dataset_info"] if i["config_name"] == name)
        result["configs"][name] = {split: d.num_rows for split, d in loaded.items()}
        # The card's features are those of the files themselves.
        for split, d in loaded.items():
            files = [f["path"] for f in config["data_files"] if f["split"] == split]
            from_file = datasets.load_dataset("parquet", data_files=str(folder / files[0]), split="train", cache_dir=cache)
            assert from_file.features == d.features, f"{name}: {from_file.features} {d.features}"
            assert [f["name"] for f in described["features"]] == list(d.features), name
            assert [s["num_examples"] for s in described["splits"] if s["name"] == split] == [d.num_rows], name
    people = datasets.load_dataset(str(folder), "participants", cache_dir=cache)
    result["participants"] = sorted({r["participant_id"] for d in people.values() for r in d})
    requests = datasets.load_dataset(str(folder), "requests", cache_dir=cache)
    keep = ["request_id", "participant_id", "model_id"]
    result["requests"] = {s: [[r[k] for k in keep] for r in d.select_columns(keep)] for s, d in requests.items()}
    paths = [r["video"]["path"] for d in requests.values() for r in d.select_columns(["video"]).cast_column("video", datasets.Video(decode=False))]
    result["videos_there"] = [(folder / p).is_file() for p in paths]

described = mlcroissant.Dataset(jsonld=str(folder / "croissant.json"))
result["croissant"]["warnings"] = sorted(described.metadata.ctx.issues.warnings)
result["croissant_paths"] = {}
for record_set in described.metadata.record_sets:
    records = list(described.records(record_set.uuid))
    result["croissant"][record_set.name] = len(records)
    for name in ["video", "image"]:
        field = f"{record_set.uuid}/{name}"
        paths = [r[field].decode() for r in records if r.get(field) is not None]
        assert all((folder / p).is_file() for p in paths), field
        if paths:
            result["croissant_paths"][field] = paths
json.dump(result, sys.stdout)
