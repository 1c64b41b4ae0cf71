"""Results -> Markdown tables that are also readable on a terminal."""

from . import stats


def table(head, rows):
    """The first column is text, the others are figures."""
    width = [max(len(str(row[i])) for row in [head, *rows]) for i in range(len(head))]

    def line(row):
        cells = [str(row[0]).ljust(width[0])] + [str(cell).rjust(width[i]) for i, cell in enumerate(row) if i]
        return "| " + " | ".join(cells) + " |"

    rule = "| " + " | ".join("-" * w if i == 0 else "-" * (w - 1) + ":" for i, w in enumerate(width)) + " |"
    return "\n".join([line(head), rule, *(line(row) for row in rows)])


def spread(summary, unit=1.0, digits=2):
    low, high = summary["min"] / unit, summary["max"] / unit
    return f"{summary['median'] / unit:.{digits}f} ({low:.{digits}f}-{high:.{digits}f})"


def peer_names(doc):
    return [peer["name"] for peer in doc["peers"]]


def program_names(doc, kind):
    ran = doc[kind]
    return [p["name"] for p in doc["programs"] if p["kind"] == kind and p["name"] in ran]


def ratio_table(doc):
    base, peers, programs = doc["baseline"], peer_names(doc), program_names(doc, "speed")
    columns = {peer: stats.ratios(doc["speed"], programs, peer, base) for peer in peers}
    rows = []
    for program in programs:
        rows.append([program] + [f"{columns[p][program]:.2f}" if program in columns[p] else "-" for p in peers])
    means = [stats.geomean(list(columns[p].values())) if columns[p] else None for p in peers]
    rows.append(["geometric mean"] + [f"{m:.3f}" if m else "-" for m in means])
    # One program can carry a mean; without its best and its worst ratio it says what is usual.
    trimmed = [stats.geomean(sorted(columns[p].values())[1:-1]) if len(columns[p]) > 3 else None for p in peers]
    rows.append(["without best and worst"] + [f"{m:.3f}" if m else "-" for m in trimmed])
    return table(["CPU time / " + base, *peers], rows)


def losses(doc, subject="ebb"):
    """One sentence each for what the subject wins and loses against the baseline."""
    if subject not in peer_names(doc) or subject == doc["baseline"]:
        return ""
    found = stats.ratios(doc["speed"], program_names(doc, "speed"), subject, doc["baseline"])
    if not found:
        return ""

    def listed(test):
        names = sorted((r, name) for name, r in found.items() if test(r))
        return ", ".join(f"{name} {r:.2f}" for r, name in names) or "none"

    return (
        f"{subject} against {doc['baseline']}, CPU time: faster (below 0.98): {listed(lambda r: r < 0.98)}. "
        f"Level: {listed(lambda r: 0.98 <= r <= 1.02)}. Slower (above 1.02): {listed(lambda r: r > 1.02)}."
    )


def speed_table(doc, key, unit, digits):
    peers, rows = peer_names(doc), []
    for program in program_names(doc, "speed"):
        runs = doc["speed"][program]
        rows.append(
            [program] + [spread(stats.column(runs[p], key), unit, digits) if runs.get(p) else "-" for p in peers]
        )
    return table(["", *peers], rows)


def rest_cell(runs, at):
    resting = stats.summary([stats.rest_sample(run, at)["anon_kib"] for run in runs])
    ratio = stats.summary([stats.rest_sample(run, at)["ratio"] for run in runs])
    return f"{resting['median'] / 1024:.1f} ({ratio['median']:.2f})"


def rest_table(doc, at):
    peers, rows = peer_names(doc), []
    for program in program_names(doc, "rest"):
        runs = doc["rest"][program]
        rows.append([program] + [rest_cell(runs[p], at) if runs.get(p) else "-" for p in peers])
    return table([f"resting MiB at {at} s (x floor)", *peers], rows)


def rest_other_table(doc, key, title):
    peers, rows = peer_names(doc), []
    for program in program_names(doc, "rest"):
        runs = doc["rest"][program]
        rows.append([program] + [spread(stats.column(runs[p], key), 1024, 1) if runs.get(p) else "-" for p in peers])
    return table([title, *peers], rows)


def rest_ranges(doc, subject="ebb"):
    """The subject's own resting ratios with their ranges."""
    if subject not in peer_names(doc):
        return ""
    rows = []
    for program in program_names(doc, "rest"):
        runs = doc["rest"][program].get(subject)
        if runs:
            cells = [spread(stats.summary([stats.rest_sample(run, at)["ratio"] for run in runs])) for at in (1, 2, 5)]
            rows.append([program, *cells, f"{stats.column(runs, 'rest_cpu_us')['median'] / 1000:.0f}"])
    return table([f"{subject}: resting / floor", "1 s", "2 s", "5 s", "CPU ms while resting"], rows)


def machine(doc):
    facts = doc["facts"]
    peers = "\n".join(
        f"- {peer['name']}: {peer['version']}" + (f", `{peer['env']}`" if peer["env"] else "") for peer in doc["peers"]
    )
    return (
        f"{facts['date']}; {facts['cpus']} x {facts['cpu']}, {facts['memory']}; {facts['system']}, kernel "
        f"{facts['kernel']}, transparent huge pages {facts['thp']}, overcommit {facts['overcommit']}; programs "
        f"compiled by {facts['compiler']} -O2. Load average before: {facts['load_before']}. Speed rounds: "
        f"{doc['rounds']['speed']}, resting rounds: {doc['rounds']['rest']}, scale {doc['scale']}. "
        f"Command: `{doc['command']}`.\n\n{peers}"
    )


def render(doc):
    parts = [machine(doc)]
    if doc["speed"]:
        parts += [
            "### Speed: user + system time\n\nBelow 1 is faster. Ratio of medians; alternating fresh processes.",
            ratio_table(doc),
            losses(doc),
            "CPU seconds, median (min-max):",
            speed_table(doc, "cpu_s", 1, 2),
            "Wall seconds, median (min-max):",
            speed_table(doc, "wall_s", 1, 2),
            "Peak RSS in MiB, median (min-max):",
            speed_table(doc, "peak_kib", 1024, 1),
            "Page faults in thousands, median (min-max):",
            speed_table(doc, "faults", 1000, 1),
        ]
    if doc["rest"]:
        parts += [
            "### Resting: anonymous RSS with every thread asleep\n\nMedians. Floor = the same allocator's RSS with "
            "threads started and nothing allocated + the OS pages that hold a byte of a surviving object.",
            rest_table(doc, 1),
            rest_table(doc, 2),
            rest_table(doc, 5),
            rest_ranges(doc),
            rest_other_table(doc, "floor_kib", "floor MiB, median (min-max)"),
            rest_other_table(doc, "peak_kib", "peak MiB, median (min-max)"),
        ]
    return "\n\n".join(part for part in parts if part) + "\n"


BEGIN = "<!-- bench:begin (written by scripts/bench --publish; do not edit) -->"
END = "<!-- bench:end -->"


def replace_between(text, body):
    """The document with what stands between the markers replaced."""
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError("the markers for the generated part are missing")
    return f"{head}{BEGIN}\n\n{body}\n{END}{tail}"
