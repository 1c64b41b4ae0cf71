"""Results to figures, and figures to Markdown tables."""

import statistics

MIB = 1 << 20
PEERS_OF_THE_PEAK = ("glibc", "jemalloc-tuned", "mimalloc")


def figures(result):
    """The figures of one run: MiB and seconds. CPU is that of load and rest; starting is left out."""
    boot, last = result["boot"], result["resting"][-1]

    def cpu(mark):
        return mark["cpu_user_seconds"] + mark["cpu_system_seconds"]

    def anonymous(mark):
        return (mark.get("anonymous_bytes") or 0) / MIB

    return {
        "boot": boot["bytes"] / MIB,
        "peak": result["peak"]["bytes"] / MIB,
        "rest1": result["resting"][0]["bytes"] / MIB,
        "idle": last["bytes"] / MIB,
        "anonymous": anonymous(last),
        "cpu": cpu(last) - cpu(boot),
        "faults": (last["minor_faults"] - boot["minor_faults"]) / 1000,
    }


COLUMNS = (
    ("boot", "boot", 0),
    ("peak", "peak", 0),
    ("rest1", "idle 1 s", 0),
    ("idle", "idle", 0),
    ("anonymous", "of it anonymous", 0),
    ("cpu", "CPU s", 2),
    ("faults", "faults (1,000)", 0),
)


def spread(values, digits):
    text = f"{statistics.median(values):.{digits}f}"
    if len(values) > 1:
        text += f" ({min(values):.{digits}f}-{max(values):.{digits}f})"
    return text


def table(runs):
    """`runs`: variant -> list of figures. Medians with (min-max)."""
    head = ["allocator", "runs"] + [title for _, title, _ in COLUMNS]
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    for name, those in runs.items():
        cells = [spread([run[key] for run in those], digits) for key, _, digits in COLUMNS]
        lines.append("| " + " | ".join([name, str(len(those)), *cells]) + " |")
    return "\n".join(lines)


def median(runs, name, key):
    return statistics.median(run[key] for run in runs[name])


def judgement(runs):
    """Ebb against the best of the others, in one line."""
    if "ebb" not in runs:
        return ""
    parts = []
    for key, word, unit, among in (
        ("peak", "peak", "MiB", PEERS_OF_THE_PEAK),
        ("idle", "idle", "MiB", tuple(runs)),
        ("cpu", "CPU", "s", tuple(runs)),
    ):
        others = [name for name in runs if name in among and not name.startswith("ebb")]
        if not others:
            continue
        best = min(others, key=lambda name: median(runs, name, key))
        own, other = median(runs, "ebb", key), median(runs, best, key)
        share = f"{own / other:.2f} x" if other else "against"
        parts.append(f"{word} {own:.3g} {unit}, {share} {best}'s {other:.3g}")
    return "Ebb: " + "; ".join(parts) + "."
