"""Saved results: runs that were made in pieces, on a machine that is quiet for minutes only, become one."""


import json
import pathlib


class Unreadable(Exception):
    """No saved results where they were said to be."""


class NotAlike(Exception):
    """Results of another machine, build or setting: a table of both would compare what cannot be compared."""


SAME = ("cpu", "cpus", "system", "kernel", "page_size", "thp", "overcommit", "compiler")


def load(path):
    """The results in a file, or in the directory that --out named."""
    file = pathlib.Path(path)
    if file.is_dir():
        file = file / "results.json"
    try:
        doc = json.loads(file.read_text())
        doc["facts"], doc["peers"], doc["command"]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise Unreadable(f"{file} holds no results of scripts/bench ({type(error).__name__}); name the results.json of a run,"
                         " or its --out directory") from error
    return doc


def check_alike(first, other):
    for key in SAME:
        if first["facts"].get(key) != other["facts"].get(key):
            raise NotAlike(f"{key} differs: {first['facts'].get(key)} and {other['facts'].get(key)}")
    for key in ("baseline", "scale", "peers"):
        if first[key] != other[key]:
            raise NotAlike(f"{key} differs: {first[key]} and {other[key]}")


def joined(docs):
    """One document. Runs of the same program come one after the other; `rounds` says the fewest of any program."""
    first = docs[0]
    for other in docs[1:]:
        check_alike(first, other)
        for kind in ("speed", "rest", "life"):
            for program, runs in other.get(kind, {}).items():
                into = first.setdefault(kind, {}).setdefault(program, {})
                for peer, more in runs.items():
                    into.setdefault(peer, []).extend(more)
    if len(docs) > 1:
        first["rounds"] = {kind: fewest(first.get(kind, {})) for kind in ("speed", "rest", "life")}
        first["facts"]["date"] += " to " + docs[-1]["facts"]["date"].partition(" ")[2]
        loads = sorted(float(doc["facts"]["load_before"].split()[0]) for doc in docs)
        first["facts"]["load_before"] = f"{loads[0]} to {loads[-1]} before each of {len(docs)} pieces"
        first["command"] = "; ".join(dict.fromkeys(doc["command"] for doc in docs))
    return first


def fewest(programs):
    return min((len(runs) for peers in programs.values() for runs in peers.values()), default=0)
