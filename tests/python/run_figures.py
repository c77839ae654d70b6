"""Figures of agents' runs by other implementations, from `redline run export` on standard input, as JSON.

Weighted kappa by scikit-learn, Wilson's interval by statsmodels, medians and shares by pandas.
"""

import json
import sys
import warnings

import pandas
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.proportion import proportion_confint

# What it says of a kappa that is not defined: here that is a figure that is absent.
warnings.simplefilter("ignore")
DIMENSIONS = ["visual_perception", "spatial_reasoning", "action_execution", "error_recovery", "execution_efficiency"]
table = pandas.read_csv(sys.stdin, dtype={"agent_version": str, "task": str})
scored = table.dropna(subset=["scorer"])
turn = scored.groupby("run_id").cumcount()
first, second = scored[turn == 0], scored[turn == 1]


def passes(t):
    n, k = len(t), int((t["outcome"] == "passed").sum())
    low, high = proportion_confint(k, n, alpha=0.05, method="wilson")
    return {"n": n, "rate": k / n, "interval": [float(low), float(high)]}


def median(t, dimension):
    enough = (t.groupby("task").size() >= 3).all() and len(t) > 0
    return {"n": len(t), "median": float(t[dimension].median()) if enough else None}


def spread(t, figure):
    parts = {"overall": figure(t)}
    for what, column in [("by_family", "family"), ("by_task", "task")]:
        parts[what] = {name: figure(part) for name, part in t.groupby(column)}
    return parts


agents = {}
for (name, version), runs in table.drop_duplicates("run_id").groupby(["agent", "agent_version"]):
    of = first[(first["agent"] == name) & (first["agent_version"] == version)]
    dimensions = {d: spread(of, lambda t, d=d: median(t, d)) for d in DIMENSIONS}
    agents[f"{name} {version}"] = {"pass_rate": spread(runs, passes), "dimensions": dimensions}

agreement = {}
both = first.merge(second, on="run_id", suffixes=("_1", "_2"))
for d in DIMENSIONS:
    a, b = both[f"{d}_1"].astype(int), both[f"{d}_2"].astype(int)
    kappa = cohen_kappa_score(a, b, labels=[0, 1, 2, 3], weights="quadratic")
    agreement[d] = {"n": len(both), "exact": float((a == b).mean()), "kappa": None if kappa != kappa else float(kappa)}
print(json.dumps({"agents": agents, "agreement": agreement}))
