#!/usr/bin/python3
"""What the demo's results say, in plain words.

conclude.py --one RESULT     one run in one line
conclude.py RESULT...        the conclusion over all runs: medians by label
conclude.py --table RESULT...  a Markdown table: medians with (min-max) by label

RESULT is what `ebb run --save` wrote. Exits 1 with one line when a result cannot be read or lacks a figure.
"""

import json
import statistics
import sys

MIB = 1024 * 1024
NAMES = {
    "ebb": "Ebb",
    "glibc": "glibc",
    "glibc-mmap64k": "glibc with a small mmap threshold",
    "jemalloc-tuned": "tuned jemalloc",
}
# Smaller differences than this between runs on one machine are noise.
NOISE = 0.03


def name(label):
    return NAMES.get(label, label)


def figures(result):
    """The figures of one run: MiB and seconds."""
    resting = result["resting"][-1]
    ebb = resting.get("ebb")
    first = result["resting"][0]
    found = {
        "rest 1 s": first["bytes"] / MIB,
        "boot": result["boot"]["bytes"] / MIB,
        "peak": result["peak"]["bytes"] / MIB,
        "resting": resting["bytes"] / MIB,
        "load": result["load"]["seconds"],
        "cpu": result["totals"]["cpu_user_seconds"] + result["totals"]["cpu_system_seconds"],
    }
    if ebb:
        found["live"] = ebb["live_bytes"] / MIB
        found["held"] = ebb["held_bytes"] / MIB
    return found


def by_label(results):
    """label -> the figures of each of its runs."""
    runs = {}
    for result in results:
        runs.setdefault(result["label"], []).append(figures(result))
    return runs


def medians(results):
    """label -> the median of each figure."""
    return {
        label: {key: statistics.median(run[key] for run in those) for key in those[0]}
        for label, those in by_label(results).items()
    }


def table(results):
    """Lowest resting first. MiB; CPU in seconds."""
    columns = [("boot", 0), ("peak", 0), ("rest 1 s", 0), ("resting", 0), ("cpu", 1)]
    rows = []
    for label, those in by_label(results).items():
        cells = [name(label), str(len(those))]
        for key, digits in columns:
            values = [run[key] for run in those]
            cells.append(f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}-{max(values):.{digits}f})")
        rows.append((statistics.median(run["resting"] for run in those), cells))
    lines = ["| allocator | runs | boot | peak | resting 1 s | resting 5 s | CPU s |", "|---|---|---|---|---|---|---|"]
    lines += ["| " + " | ".join(cells) + " |" for _, cells in sorted(rows)]
    return "\n".join(lines)


def one_line(result):
    run = figures(result)
    line = "{}: boot {boot:.0f}, peak {peak:.0f}, resting {resting:.0f} MiB".format(name(result["label"]), **run)
    if "live" in run:
        line += ", of which {live:.0f} live and {held:.0f} held".format(**run)
    return line + f"; load {run['load']:.1f} s"


def compared(key, table):
    """How Ebb stands in one figure: a clause."""
    own = table["ebb"][key]
    best = min((label for label in table if label != "ebb"), key=lambda label: table[label][key])
    other = table[best][key]
    share = abs(own - other) / other
    if share < NOISE:
        return f"as much as {name(best)} ({other:.0f})"
    return f"{share:.0%} {'less' if own < other else 'MORE'} than {name(best)} ({other:.0f})"


def conclusion(table):
    if "ebb" not in table or len(table) < 2:
        return "Nothing to compare: Ebb and at least one other allocator are needed."
    ebb = table["ebb"]
    resting = ", ".join(f"{name(label)} {run['resting']:.0f}" for label, run in table.items())
    text = (
        f"After the same hundred requests the server rests at (MiB): {resting}. Under Ebb it rests at {ebb['resting']:.0f} MiB, "
        f"{compared('resting', table)}, the best of the others, and peaked at {ebb['peak']:.0f} MiB, {compared('peak', table)}"
    )
    if "live" in ebb:
        text += (
            f"; of what rests, {ebb['live']:.0f} MiB are live bytes that nobody but Ruby could give back"
            f" and {ebb['held']:.0f} MiB are held by Ebb"
        )
    if "glibc" in table:
        own, other = ebb["cpu"], table["glibc"]["cpu"]
        share = (own - other) / other
        what = "the same CPU time as" if abs(share) < NOISE else f"{abs(share):.0%} {'less' if share < 0 else 'MORE'} CPU time than"
        text += f"; it took {what} glibc ({own:.1f} s against {other:.1f} s)"
    return text + "."


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def main(arguments):
    try:
        if arguments[:1] == ["--one"] and len(arguments) == 2:
            print(one_line(read(arguments[1])))
        elif arguments[:1] == ["--table"] and len(arguments) > 1:
            print(table([read(path) for path in arguments[1:]]))
        elif arguments and not arguments[0].startswith("-"):
            print(conclusion(medians([read(path) for path in arguments])))
        else:
            print(__doc__, file=sys.stderr)
            return 2
    except (OSError, ValueError) as error:
        print(f"conclude.py: {error}", file=sys.stderr)
        return 1
    except (KeyError, TypeError, IndexError) as error:
        print(f"conclude.py: a result lacks a figure: {error!r}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
