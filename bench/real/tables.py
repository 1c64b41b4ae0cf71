"""Results as Markdown."""

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


def best(runs_of, peers, subject, how):
    """The fastest other peer: (name, its figure)."""
    return min(((p, how([run["cpu_s"] for run in runs_of[p]])) for p in peers if p != subject), key=lambda pair: pair[1])


def verdict_rows(doc, subject):
    peers = [p["name"] for p in doc["peers"]]
    for name, runs_of in doc["runs"].items():
        if subject not in runs_of or len(peers) < 2:
            continue
        row, within = [name], []
        for how in (lambda v: stats.summary(v)["median"], min):
            peer, figure = best(runs_of, peers, subject, how)
            ratio = how([run["cpu_s"] for run in runs_of[subject]]) / figure
            row += [peer, f"{ratio:.3f}"]
            within.append(ratio <= SLACK)
        # On a machine that is not still, medians carry what happened beside; the minimum is one run's luck.
        row.append("yes" if all(within) else "unclear" if any(within) else "no")
        yield row


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
        out.append("\n" + table(["CPU time", "best peer (median)", f"{subject} / it", "best peer (minimum)", f"{subject} / it",
                                 "within 2 %"], rows))
    out.append(figures(doc, "CPU s, median (min-max)", "cpu_s", 3))
    out += list(parts(doc))
    out.append(figures(doc, "peak MiB, median (min-max)", "peak_mib", 1))
    out.append(figures(doc, "wall s, median (min-max)", "wall_s", 2))
    return "\n".join(out)
