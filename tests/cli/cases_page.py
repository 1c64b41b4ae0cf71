"""page: ebb report of results of every kind: the HTML page, Markdown, CSV, and what hostile results do to them."""

import copy
import csv
import html.parser
import io
import json
import re
import shutil
import subprocess

from lib import MIB, SOURCE, check, document, ebb, expect, temporary

HOSTILE = '</script><script>document.title="owned"</script><img src=x onerror=alert(1)>"\'&|`*[a](b)'
ROWS = [("live", HOSTILE, 9), ("held", "free slots", 2), ("objects", "binary", 8), ("not_accounted", "not accounted", 1)]


def run_of(label, mib, **changes):
    """A whole ebb.run/1, scaled to so many MiB at rest."""
    run = json.load(open(SOURCE / "tests/fuzz/corpus/saved/run.json"))
    run["label"] = label
    for mark in [run["boot"], run["peak"], run["load_end"], *run["resting"]]:
        mark["bytes"] = mib * MIB
    run["timeline"] = [[0.5, mib * MIB], [1.5, mib * MIB]]
    run["accounts"] = {"process": "x", "mark": "rest", "rss_bytes": 20 * MIB, "bound_bytes": 0, "not_in_rss": {"swap": 0},
                       "rows": [{"section": s, "name": n, "bytes": b * MIB} for s, n, b in ROWS]}
    run.update(changes)
    return run


def documents():
    """One of each kind, with a text that would like to be script wherever a text may stand."""
    runs = [run_of(label, mib + i) for i in range(3) for label, mib in ((HOSTILE, 100), ("ebb", 50))]
    head = {"ebb_version": "0.1.0", "started_at": "2026-12-01T00:00:00Z", "machine": runs[0]["machine"], "command": [HOSTILE],
            "a future key": {"with": ["things", HOSTILE]}}
    rows = [{"rate": rate, "offered": rate * 10, "served": min(rate * 10, 900), "refused": 0, "errors": 0, "knee": rate == 100,
             "latency": {"p99_seconds": 0.01}, "run": run_of("x", rate)} for rate in (50, 100, 200)]
    limits = [{"figure": "peak", "account": None, "unit": "bytes", "limit": "64M", "most": 64 * MIB, "measured": 80 * MIB,
               "kept": "broken", "problem": None},
              {"figure": "account", "account": HOSTILE, "unit": "bytes", "limit": "9M", "most": 9 * MIB, "measured": 8 * MIB,
               "kept": "kept", "problem": None}]
    verdict = {"schema": "ebb.doctor/1", "code": "ALLOC_RETAINED", "sentence": HOSTILE, "next_measurement": HOSTILE,
               "evidence": [{"fact": "x", "title": HOSTILE, "bytes": 3 * MIB, "bound_bytes": 0, "source": HOSTILE}],
               "remedy": {"text": HOSTILE, "gain_bytes": 5 * MIB, "cost": HOSTILE}, "further": [{"code": "THP", "sentence": HOSTILE}],
               "rss_bytes": 20 * MIB, "accounts": runs[0]["accounts"]["rows"],
               "not_in_rss": [{"section": "swap", "name": "swap", "bytes": 0}]}
    return {
        "run": runs[0],
        "compare": {"schema": "ebb.compare/1", **head, "runs": runs},
        "size": {"schema": "ebb.size/1", **head, "rows": rows, "groups": [{"sentence": HOSTILE}]},
        "check": {"schema": "ebb.check/1", **head, "kept": "broken", "limits": limits, "runs": runs[:2], "verdict": verdict},
        "doctor": {**head, **verdict},
    }


def written(directory, **given):
    paths = []
    for name, value in given.items():
        paths.append(f"{directory}/{name}.json")
        with open(paths[-1], "w") as file:
            json.dump(value, file)
    return paths


class Page(html.parser.HTMLParser):
    """What a browser makes of a page: its elements, and the text of its scripts."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.scripts, self.open = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in ("meta", "br", "img"):
            self.open.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        check(self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-1:]}")
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data

    def count(self, tag):
        return sum(1 for name, _ in self.elements if name == tag)


def html_of(paths):
    """The page's text, and what a browser makes of it."""
    with temporary() as directory:
        outcome = expect(ebb("report", "--html", f"{directory}/page.html", *paths), code=0, err_lines=0)
        check(outcome.out == "", f"{outcome}")
        text = open(f"{directory}/page.html").read()
    return text, Page(text)


def page_asks_nobody():
    with temporary() as directory:
        text, page = html_of(written(directory, **documents()))
    check(not page.open, f"left open: {page.open}")
    policy = [a["content"] for tag, a in page.elements if tag == "meta" and a.get("http-equiv") == "Content-Security-Policy"]
    check(len(policy) == 1 and policy[0].startswith("default-src 'none';"), f"{policy}")
    nonce = re.search(r"script-src 'nonce-([0-9a-f]{32})'", policy[0]).group(1)
    for tag, attributes in page.elements:
        check(not {"src", "href", "srcset", "action", "data", "style"} & set(attributes), f"{tag} {attributes}")
        check(not any(name.startswith("on") for name in attributes), f"{tag} {attributes}")
        if tag in ("script", "style") and attributes.get("type") != "application/json":
            check(attributes.get("nonce") == nonce, f"{tag} {attributes}")
    check("url(" not in text[: text.index("</style>")] and "@import" not in text, "the style sheet asks for something")
    check(nonce not in html_of([str(SOURCE / "tests/fuzz/corpus/saved/run.json")])[0], "the nonce is the same again")


def page_hostile_texts_stay_text():
    with temporary() as directory:
        text, page = html_of(written(directory, **documents()))
    check(page.count("script") == 3 and page.count("img") == 0 and page.count("a") == 0, "a text became markup")
    check(HOSTILE not in text, "a text stands there as it is")
    check("&#60;/script&#62;&#60;script&#62;document.title=" in text, "the text is not there at all")


def page_has_the_document():
    """What the script draws from is what --json prints."""
    with temporary() as directory:
        paths = written(directory, **documents())
        _, page = html_of(paths)
        report = document(expect(ebb("report", "--json", *paths), code=0))
        check(json.loads(page.scripts[0]) == report, "the page's document is another")
    check([source["schema"] for source in report["sources"]] == ["ebb.run/1", "ebb.compare/1", "ebb.size/1", "ebb.check/1",
                                                                 "ebb.doctor/1"], f"{report['sources']}")
    check(len(report["runs"]) == 1 + 6 + 3 + 2, f"{len(report['runs'])} runs")
    check(report["results"][0]["runs"] == [1, 2, 3, 4, 5, 6] and report["results"][1]["rows"][1]["run"] == 8, "other indices")
    check(report["runs"][8]["label"] == "100/s" and report["runs"][8]["peak_bytes"] == 100 * MIB, f"{report['runs'][8]}")
    # The run at the median of three stands for them.
    check(report["stacks"][1]["runs"] == [3, 4], f"{report['stacks']}")
    check(len(report["comparisons"]) == 3 and report["comparisons"][1]["groups"][1]["peak_bytes"]["median"] == 51 * MIB, "other groups")
    kinds = [a["data-chart"] for tag, a in page.elements if tag == "figure"]
    check(sorted(set(kinds)) == ["comparison", "limits", "size-memory", "size-work", "stack", "timeline", "verdict"], f"{kinds}")
    for tag, attributes in page.elements:
        check(tag != "canvas" or (attributes["role"] == "img" and len(attributes["aria-label"]) > 20), f"{attributes}")
    check(page.count("table") >= len(kinds) - 1, "a chart without a table")


def page_every_key_is_documented():
    text = (SOURCE / "docs/result-format.md").read_text()
    with temporary() as directory:
        report = document(expect(ebb("report", "--json", *written(directory, **documents())), code=0))

    def keys(value):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
            if isinstance(key, str):
                yield key
            yield from keys(inner)

    missing = sorted({key for key in keys(report) if f"`{key}`" not in text})
    check(not missing, f"not in docs/result-format.md: {missing}")


def page_in_a_browser():
    """Where there is one: every chart is drawn, and what wants to be script is not run."""
    browser = shutil.which("chromium")
    if not browser:
        return
    with temporary() as directory:
        paths = written(directory, **documents())
        expect(ebb("report", "--html", f"{directory}/page.html", *paths), code=0)
        outcome = subprocess.run([browser, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={directory}/profile",
                                  "--virtual-time-budget=2000", "--enable-logging=stderr", "--dump-dom",
                                  f"file://{directory}/page.html"], capture_output=True, text=True, timeout=60)
    check("owned" not in re.search(r"<title>(.*?)</title>", outcome.stdout).group(1), "script of a result was run")
    check("CONSOLE" not in outcome.stderr, f"{outcome.stderr}")
    drawn = re.findall(r"<canvas[^>]* width=\"(\d+)\"", outcome.stdout)
    check(len(drawn) == outcome.stdout.count("<canvas") and all(int(width) > 100 for width in drawn), f"widths {drawn}")
    check(outcome.stdout.count('<button type="button" aria-pressed="true"') > 10, "no legends")


def page_cannot_be_written():
    with temporary() as directory:
        paths = written(directory, run=documents()["run"])
        expect(ebb("report", "--html", f"{directory}/none/x.html", *paths), code=3, err=r"^ebb: --html .*: the page was not written$",
               err_lines=1)
        expect(ebb("report", "--html", "/dev/full", *paths), code=3, err=r"No space left on device", err_lines=1)
        expect(ebb("report", "--csv", "--json", *paths), code=2, err=r"exclude each other", err_lines=1)


def page_text_of_every_kind():
    with temporary() as directory:
        outcome = expect(ebb("report", *written(directory, **documents())), code=0, err_lines=0)
        expect(outcome, out=r"^  peak +64M +64\.0 MiB +80\.0 MiB +broken$")
        expect(outcome, out=r"^  +100 +1,000 +900 +0 +0 ")
        expect(outcome, out=r"^ALLOC_RETAINED  </script>")
        expect(outcome, out=r"^3 runs each of </script>")


def page_markdown():
    with temporary() as directory:
        text = expect(ebb("report", "--markdown", *written(directory, **documents())), code=0).out
    check("<" not in text.replace("<br>", "") and "[a](b)" not in text, "a text became markup")
    table, width = False, 0
    for line in text.splitlines():
        if line.startswith("|"):
            columns = line.replace("\\|", "").count("|")
            check(columns == width or not table, line)
            table, width = True, columns
        else:
            table, width = False, 0
    check("| rest, after 5 s |" in text and "### Verdict: ALLOC\\_RETAINED" in text, text)


def page_csv():
    with temporary() as directory:
        given = documents()
        given["run"]["label"] = '=1+1,"a"'
        lines = list(csv.DictReader(io.StringIO(expect(ebb("report", "--csv", *written(directory, **given)), code=0).out)))
    check(len(lines) == 12 and all(None not in line and None not in line.values() for line in lines), f"{lines[:1]}")
    check(lines[0]["label"] == "'=1+1,\"a\"", f"{lines[0]['label']}")
    check(lines[8]["rate"] == "100" and lines[8]["served"] == "900" and lines[8]["peak_bytes"] == str(100 * MIB), f"{lines[8]}")
    check(lines[8]["live_bytes"] == "", "what is not known is not empty")


def page_not_comparable_is_shown_and_said():
    with temporary() as directory:
        other = copy.deepcopy(run_of("b", 3))
        other["machine"]["kernel"] = "9.9"
        paths = written(directory, a=run_of("a", 2), b=other)
        expect(ebb("report", *paths), code=4, err=r"not comparable: the kernel", err_lines=1)
        outcome = expect(ebb("report", "--json", *paths), code=4, err=r"not comparable: the kernel", err_lines=1)
        report = json.loads(outcome.out)
        check(len(report["runs"]) == 2 and "the kernel" in report["comparisons"][0]["not_comparable"], f"{report['comparisons']}")


def page_strange_documents():
    """Of the right schema and nothing else right: shown as far as it goes, or one line."""
    with temporary() as directory:
        for kind, schema in (("compare", "ebb.compare/1"), ("size", "ebb.size/1"), ("check", "ebb.check/1"), ("doctor", "ebb.doctor/1")):
            for strange in ({}, {"runs": 7, "rows": {}, "limits": "x", "code": [], "machine": 1},
                            {"rows": [1, None, {"rate": "x", "run": {"schema": "ebb.run/1"}}], "limits": [[], {"kept": 1}],
                             "runs": [{"schema": "ebb.run/1", "timeline": [[1], "x", [None, 2]], "accounts": {"rows": [1, {}]}}]}):
                paths = written(directory, **{kind: dict(strange, schema=schema)})
                for how in "--html=/dev/null", "--markdown", "--csv", "--json", "--bytes":
                    expect(ebb("report", how, *paths), code=0, err_lines=0)
            expect(ebb("report", *written(directory, x={"schema": schema[:-1] + "2"})), code=2,
                   err=rf"was written by another version of ebb; this one reads {schema}$", err_lines=1)
