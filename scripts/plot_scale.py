"""Draws what bench_scale.sh prints: seconds and peak memory against sessions.

plot_scale.py CSV SVG
"""

import csv
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "redline"
import matplotlib.pyplot as plt


def main(source: str, target: str) -> None:
    with open(source, newline="") as f:
        rows = list(csv.DictReader(f))
    column = {name: [float(r[name]) for r in rows] for name in rows[0]}
    sessions = column["sessions"]
    figure, (time, memory) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for name, label in (("seconds_disk", "files from disk"), ("seconds_memory", "files in memory")):
        time.loglog(sessions, column[name], "o-", label=label)
    # What a straight line through the largest size gives: time that grows with sessions and nothing else.
    slope = column["seconds_memory"][-1] / sessions[-1]
    time.loglog(sessions, [slope * n for n in sessions], "k:", label="linear")
    time.set(xlabel="sessions", ylabel="seconds", title="Time to pack")
    time.legend()
    memory.plot([n / 1e6 for n in sessions], column["peak_mb"], "o-")
    memory.set(xlabel="million sessions", ylabel="MB", title="Peak memory", ylim=(0, None))
    for axes in (time, memory):
        axes.grid(True, which="major", alpha=0.3)
    figure.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    main(*sys.argv[1:])
