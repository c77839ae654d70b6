#!/usr/bin/env python3
"""References for the alignment benchmark from hand marks and the videos they belong to.

    marks_to_references.py VIDEOS OUT

VIDEOS holds the published request videos; OUT/real-sure (edges marked as sure) and OUT/real-all
(doubtful ones as well) are filled with NAME.wav and NAME.tsv. Needs ffmpeg.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

MARKS = Path(__file__).resolve().parent.parent / "transcribe" / "marks"


def read(path: Path) -> tuple[list[tuple[float, float, str]], dict[float, str]]:
    words, unsure = path.read_text().split('class = "TextTier"')
    interval = re.compile(r'xmin = (\S+)\s+xmax = (\S+)\s+text = "(.*)"')
    point = re.compile(r'number = (\S+)\s+mark = "(.*)"')
    return (
        [(float(a), float(b), w) for a, b, w in interval.findall(words) if w],
        {float(t): m for t, m in point.findall(unsure)},
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("videos", type=Path)
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    for grid in sorted(MARKS.glob("*.TextGrid")):
        videos = sorted(args.videos.glob(f"{grid.stem}_*.mp4"))
        if not videos:
            sys.exit(f"{args.videos}: has no video {grid.stem}_*.mp4")
        words, unsure = read(grid)
        for name, left_out in [("real-sure", {"doubtful", "not marked"}), ("real-all", {"not marked"})]:
            folder = args.out / name
            folder.mkdir(parents=True, exist_ok=True)
            target = folder / f"{grid.stem.split('_')[1].split('-')[0]}"
            known = lambda t: "nan" if unsure.get(t) in left_out else f"{t:.4f}"
            target.with_suffix(".tsv").write_text("".join(f"{known(a)}\t{known(b)}\t{w}\n" for a, b, w in words))
            subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", videos[0], "-ac", "1", "-ar", "16000", "-bitexact", target.with_suffix(".wav")], check=True)


if __name__ == "__main__":
    main()
