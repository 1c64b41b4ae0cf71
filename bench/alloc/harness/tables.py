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


def life_mean(run, index):
    return sum(minute[index] for minute in run["minutes"]) / len(run["minutes"])


LIFE = [
    ("peak", lambda run: run["peak_kib"] / 1024, 1),
    ("mean of the hour", lambda run: life_mean(run, 0) / 1024, 1),
    ("mean / mean live", lambda run: life_mean(run, 0) / life_mean(run, 1), 2),
    ("most / live that minute", lambda run: max(rss / live for rss, live in run["minutes"]), 2),
    ("1 s after it", lambda run: stats.rest_sample(run, 1)["anon_kib"] / 1024, 1),
    ("2 s", lambda run: stats.rest_sample(run, 2)["anon_kib"] / 1024, 1),
    ("5 s", lambda run: stats.rest_sample(run, 5)["anon_kib"] / 1024, 1),
    ("floor then", lambda run: run["floor_kib"] / 1024, 1),
    ("5 s / floor", lambda run: stats.rest_sample(run, 5)["ratio"], 2),
    ("CPU s of the hour", lambda run: run["work_cpu_us"] / 1e6, 2),
    ("page faults, thousands", lambda run: run["faults"] / 1000, 1),
    ("late ticks of 600", lambda run: run["late_ticks"], 0),
]


def life_cell(runs, figure, digits):
    summary = stats.summary([figure(run) for run in runs])
    return spread(summary, 1, digits) if len(runs) > 1 else f"{summary['median']:.{digits}f}"


def life_table(doc, program):
    peers, runs = peer_names(doc), doc["life"][program]
    rows = []
    for title, figure, digits in LIFE:
        rows.append([title] + [life_cell(runs[p], figure, digits) if runs.get(p) else "-" for p in peers])
    return table([program + ": MiB", *peers], rows)


def life_course(doc, program, every=5):
    """Anonymous RSS and live bytes at the end of every fifth minute; the first run of each peer."""
    peers, runs = [p for p in peer_names(doc) if doc["life"][program].get(p)], doc["life"][program]
    rows = []
    for minute in range(every - 1, len(runs[peers[0]][0]["minutes"]), every):
        live = runs[peers[0]][0]["minutes"][minute][1]
        rss = [runs[p][0]["minutes"][minute][0] for p in peers]
        rows.append([str(minute + 1), f"{live / 1024:.0f}"] + [f"{kib / 1024:.0f}" for kib in rss])
    return table(["minute", "live MiB", *peers], rows)


def machine(doc):
    facts = doc["facts"]
    peers = "\n".join(
        f"- {peer['name']}: {peer['version']}" + (f", `{peer['env']}`" if peer["env"] else "") for peer in doc["peers"]
    )
    return (
        f"{facts['date']}; {facts['cpus']} x {facts['cpu']}, {facts['memory']}; {facts['system']}, kernel "
        f"{facts['kernel']}, transparent huge pages {facts['thp']}, overcommit {facts['overcommit']}; programs "
        f"compiled by {facts['compiler']} -O2. Load average before: {facts['load_before']}. Speed rounds: "
        f"{doc['rounds']['speed']}, resting rounds: {doc['rounds']['rest']}, hours: {doc['rounds'].get('life', 0)}, "
        f"scale {doc['scale']}. Command: `{doc['command']}`.\n\n{peers}"
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
    for program in program_names(doc, "life") if doc.get("life") else []:
        parts += [
            "### An hour of a server's life\n\nAn hour in a minute: load, sizes and lifetimes drift. Anonymous RSS, "
            "noted once a simulated minute; then everything sleeps. All peers ran at the same time. A late tick is one "
            "that the machine was too busy for.",
            life_table(doc, program),
            "MiB at the end of a minute:",
            life_course(doc, program),
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
