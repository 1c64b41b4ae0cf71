"""The few statistics that the tables use."""

import math
import statistics


def summary(values):
    """Median with its range."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values), "n": len(values)}


def geomean(values):
    return math.exp(sum(math.log(value) for value in values) / len(values))


def column(runs, key):
    return summary([run[key] for run in runs])


def ratios(results, programs, peer, base, key="cpu_s"):
    """program -> median under peer / median under base, where both ran."""
    out = {}
    for program in programs:
        both = results.get(program, {})
        if both.get(peer) and both.get(base):
            denominator = column(both[base], key)["median"]
            if denominator > 0:
                out[program] = column(both[peer], key)["median"] / denominator
    return out


def rest_sample(run, at):
    return next(sample for sample in run["rest"] if abs(sample["at_s"] - at) < 1e-6)
