#!/usr/bin/python3
"""The demo's conclusion says what the figures say: also when Ebb loses."""

import json
import pathlib
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "bench" / "contacts" / "conclude.py"
MIB = 1024 * 1024


def result(label, boot, peak, resting, cpu, ebb=None):
    return {
        "label": label,
        "boot": {"bytes": boot * MIB},
        "peak": {"bytes": peak * MIB},
        "resting": [{"after_seconds": 1.0, "bytes": 999 * MIB, "ebb": None}, {"after_seconds": 5.0, "bytes": resting * MIB, "ebb": ebb}],
        "load": {"seconds": cpu},
        "totals": {"cpu_user_seconds": cpu - 1, "cpu_system_seconds": 1.0},
    }


def own(live, held):
    return {"live_bytes": live * MIB, "held_bytes": held * MIB}


def run(*arguments):
    done = subprocess.run([sys.executable, "-I", SCRIPT, *arguments], capture_output=True, text=True, timeout=30)
    return done.returncode, done.stdout, done.stderr


def check(what, condition):
    if not condition:
        sys.exit(f"FAIL: {what}")


def conclude(directory, results):
    paths = []
    for number, content in enumerate(results):
        path = directory / f"{number}.json"
        path.write_text(json.dumps(content))
        paths.append(str(path))
    return run(*paths)


def main():
    with tempfile.TemporaryDirectory(prefix="ebb-contacts.") as name:
        directory = pathlib.Path(name)
        glibc = [result("glibc", 31, peak, 220, 20.0) for peak in (210, 220, 260)]
        tuned = [result("jemalloc-tuned", 32, 184, 140, 19.0)]

        status, text, _ = conclude(directory, glibc + tuned + [result("ebb", 31, 150, 70, 20.1, own(50, 2))])
        check(f"a win: {text}", status == 0 and "glibc 220, tuned jemalloc 140, Ebb 70" in text)
        check(f"a win at rest: {text}", "rests at 70 MiB, 50% less than tuned jemalloc (140)" in text)
        check(f"a win in the peak: {text}", "peaked at 150 MiB, 18% less than tuned jemalloc (184)" in text)
        check(f"live and held: {text}", "50 MiB are live" in text and "2 MiB are held" in text)
        check(f"the same time: {text}", "the same CPU time as glibc (20.1 s against 20.0 s)" in text)

        status, text, _ = conclude(directory, glibc + tuned + [result("ebb", 31, 230, 168, 25.0, own(50, 100))])
        check(f"a loss is no failure: {text}", status == 0)
        check(f"a loss at rest: {text}", "rests at 168 MiB, 20% MORE than tuned jemalloc (140)" in text)
        check(f"a loss in the peak: {text}", "25% MORE than tuned jemalloc (184)" in text)
        check(f"a loss of time: {text}", "25% MORE CPU time than glibc" in text)

        status, text, _ = conclude(directory, glibc + [result("ebb", 31, 221, 219, 20.0)])
        check(f"a tie: {text}", "rests at 219 MiB, as much as glibc (220)" in text and "live" not in text)

        status, text, _ = conclude(directory, glibc)
        check(f"nothing to compare: {text}", status == 0 and text.startswith("Nothing to compare"))

        status, text, _ = run("--one", str(directory / "0.json"))
        check(f"one line: {text}", text == "glibc: boot 31, peak 210, resting 220 MiB; load 20.0 s\n")

        status, text, _ = run("--table", *(str(directory / f"{n}.json") for n in range(3)))
        row = "| glibc | 3 | 31 (31-31) | 220 (210-260) | 999 (999-999) | 220 (220-220) | 20.0 (20.0-20.0) |"
        check(f"a table: {text}", status == 0 and row in text.splitlines())

        broken = result("ebb", 31, 150, 70, 20.0)
        broken["peak"] = {"bytes": None}
        status, text, errors = conclude(directory, [broken])
        check(f"a figure is missing: {errors}", status == 1 and "lacks a figure" in errors and text == "")
        status, _, errors = run(str(directory / "none.json"))
        check(f"no such result: {errors}", status == 1 and "none.json" in errors)
    print("conclusions are as the figures")


main()
