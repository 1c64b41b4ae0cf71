"""Results as Markdown."""

import statistics

from harness import stats

SLACK = 1.02  # the line that docs/benchmarks.md draws: no slower than the best peer within 2 %


def table(head, rows):
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    lines = ["| " + " | ".join(cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths))) + " |"
             for row in [head, *rows]]
    lines.insert(1, "| " + " | ".join("-" * w if i == 0 else "-" * (w - 1) + ":" for i, w in enumerate(widths)) + " |")
    return "\n".join(lines) + "\n"


def spread(runs, key, digits):
    s = stats.column(runs, key)
    return f"{s['median']:.{digits}f} ({s['min']:.{digits}f}-{s['max']:.{digits}f})"


def paired(runs_of, subject, peer):
    """Subject / peer, round by round: what happened on the machine meanwhile met both. (median, lower, upper quartile)"""
    ratios = sorted(ours["cpu_s"] / theirs["cpu_s"] for ours, theirs in zip(runs_of[subject], runs_of[peer]))
    if len(ratios) < 2:
        return (ratios[0],) * 3
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return middle, low, high


def verdict(ratios):
    """Over all peers: is the subject slower than one of them by more than SLACK?"""
    slower = [low for middle, low, _ in ratios if middle > SLACK]
    if not slower:
        return "yes"
    return "no" if any(low > SLACK for low in slower) else "unclear"


def verdict_rows(doc, subject):
    peers = [p["name"] for p in doc["peers"] if p["name"] != subject]
    for name, runs_of in doc["runs"].items():
        if subject in runs_of and peers:
            ratios = [paired(runs_of, subject, peer) for peer in peers]
            yield [name, *(f"{m:.2f} ({low:.2f}-{high:.2f})" for m, low, high in ratios), verdict(ratios)]


def figures(doc, title, key, digits):
    peers = [p["name"] for p in doc["peers"]]
    rows = [[name, *(spread(runs_of[p], key, digits) for p in peers)] for name, runs_of in doc["runs"].items()]
    return table([title, *peers], rows)


def parts(doc):
    peers = [p["name"] for p in doc["peers"]]
    for name, runs_of in doc["runs"].items():
        keys = list(runs_of[peers[0]][0].get("parts", {}))
        if keys:
            rows = []
            for key in keys:
                flat = {p: [run["parts"] for run in runs_of[p]] for p in peers}
                rows.append([key, *(spread(flat[p], key, 2) for p in peers)])
            yield table([f"{name}: server's CPU, us a request", *peers], rows)


def runs_each(doc):
    counts = sorted({len(runs) for runs_of in doc["runs"].values() for runs in runs_of.values()})
    return f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def render(doc, subject="ebb"):
    f = doc["facts"]
    out = [f"{f['date']}; {f['cpus']} x {f['cpu']}, {f['system']}, kernel {f['kernel']}, transparent huge pages {f['thp']}."
           f" Load before: {f['load_before']}. Runs each: {runs_each(doc)}, scale {doc['scale']:g}. Command: `{doc['command']}`.\n"]
    out += [f"- {p['name']}: {p['version']}{', `' + p['env'] + '`' if p['env'] else ''}" for p in doc["peers"]]
    out += ["- " + version for version in dict.fromkeys(doc["versions"].values())]
    rows = list(verdict_rows(doc, subject))
    if rows:
        others = [p["name"] for p in doc["peers"] if p["name"] != subject]
        out.append("\n" + table([f"CPU time of {subject} /", *others, "within 2 %"], rows))
    out.append(figures(doc, "CPU s, median (min-max)", "cpu_s", 3))
    out += list(parts(doc))
    out.append(figures(doc, "peak MiB, median (min-max)", "peak_mib", 1))
    out.append(figures(doc, "wall s, median (min-max)", "wall_s", 2))
    return "\n".join(out)
