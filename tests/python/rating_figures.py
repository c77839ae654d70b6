"""Figures of ratings by other implementations, from `redline rate export --json` on standard input, as JSON.

ICC(2,k) with its interval by pingouin, Spearman by SciPy, medians and acceptance by pandas.
"""

import json
import sys
import warnings

import pandas
import pingouin
import scipy.stats

warnings.simplefilter("ignore", scipy.stats.ConstantInputWarning)
SCORES = ["instruction_following", "quality"]
table = pandas.DataFrame(json.load(sys.stdin))


def figures(t):
    medians = t.groupby("edit")[SCORES].median()
    out = {
        "n": len(medians),
        "ratings": len(t),
        "acceptance": float(((medians >= 5).all(axis=1)).mean()),
        "normalised": {s: float(((medians[s] - 1) / 6).mean()) for s in SCORES},
        "icc": {},
        "pairs": {},
    }
    for s in SCORES:
        wide = t.pivot(index="edit", columns="rater", values=s)
        if len(wide) >= 5 and not wide.isna().any().any():
            i = pingouin.intraclass_corr(t, targets="edit", raters="rater", ratings=s)
            kinds = i["Type"].astype(str)
            row = i[kinds.isin(["ICC2k", "ICC(A,k)"])].iloc[0]
            low, high = [row[c] for c in i.columns if c.startswith("CI95")][0]
            out["icc"][s] = {"average": float(row["ICC"]), "low": float(low), "high": float(high)}
        names = sorted(wide.columns)
        for k, a in enumerate(names):
            for b in names[k + 1:]:
                both = wide[[a, b]].dropna()
                if len(both) >= 3:
                    r = scipy.stats.spearmanr(both[a], both[b])
                    if r.statistic == r.statistic:
                        out["pairs"].setdefault(s, {})[f"{a} {b}"] = [len(both), float(r.statistic), float(r.pvalue)]
    return out


result = {"any any": figures(table)}
for m in sorted(set(table["modality"])):
    result[f"{m} any"] = figures(table[table["modality"] == m])
for d in sorted(set(table["difficulty"])):
    result[f"any {d}"] = figures(table[table["difficulty"] == d])
print(json.dumps({"medians": table.groupby("edit")[SCORES].median().to_dict("index"), "groups": result}))
