"""ebb doctor on frozen cases: each must give its verdict, and none may be told more than its evidence bears.

A case is a directory of files as the kernel writes them and a ledger.json, with expected.json beside them. `run.py GROUP`
runs one group of tests below; `run.py --table FILE` writes the table of all cases, expected and found.
"""

import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CASES = sorted(path for path in (HERE / "cases").iterdir() if (path / "expected.json").exists())
EBB = str(pathlib.Path(os.environ["EBB_BIN_DIR"]) / "ebb")
CODES = ("ALLOC_RETAINED ALLOC_FRAGMENTED SECOND_ALLOCATOR LAZYFREE FILE_MMAP PAGE_CACHE SHMEM KERNEL_SLAB SOCK THP STACKS "
         "LIVE_LEDGER LIVE_UNEXPLAINED SHARED_TWICE COW_FORK SWAPPED CAP_BELOW_FLOOR WORKERS INSTRUMENT TOO_SMALL "
         "NOT_COMPARABLE UNKNOWN HEALTHY").split()
# They blame nobody.
MILD = ("UNKNOWN", "HEALTHY", "TOO_SMALL")
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


class Failed(Exception):
    pass


def check(condition, message):
    if not condition:
        raise Failed(message)


def doctor(*arguments):
    env = dict(os.environ, LC_ALL="C", NO_COLOR="1")
    return subprocess.run([EBB, "doctor", *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          errors="replace", timeout=20, env=env)


def verdict_of(directory):
    """The verdict as JSON. 4 is the exit code of what is not certain."""
    done = doctor("--json", directory)
    check(done.returncode in (0, 4), f"exit {done.returncode}: {done.stderr}")
    check(done.stderr == "", f"on stderr: {done.stderr}")
    document = json.loads(done.stdout)
    check(document["schema"] == "ebb.doctor/1", f"schema {document['schema']}")
    check(document["code"] in CODES, f"no such code: {document['code']}")
    check((done.returncode == 4) == (document["code"] in ("UNKNOWN", "NOT_COMPARABLE")),
          f"exit {done.returncode} with {document['code']}")
    return document


def codes(document):
    """The code of the verdict and those of further findings."""
    return [document["code"]] + [finding["code"] for finding in document.get("further", [])]


def numbers(node):
    """Every number of a document, and every amount in its sentences."""
    if isinstance(node, dict):
        for value in node.values():
            yield from numbers(value)
    elif isinstance(node, list):
        for value in node:
            yield from numbers(value)
    elif isinstance(node, str):
        for amount, unit in re.findall(r"([0-9]+(?:\.[0-9]+)?) ([KMGT]iB)", node):
            yield float(amount) * UNITS[unit]
    elif isinstance(node, (int, float)) and not isinstance(node, bool):
        yield node


def assert_expected(case, expected, document, text):
    found = codes(document)

    check(found[0] in expected["code"], f"{found[0]}, wanted {' or '.join(expected['code'])}\n{text}")
    for wanted in expected.get("also", []):
        check(any(code in wanted.split("|") for code in found[1:]), f"further {found[1:]}, wanted {wanted}\n{text}")
    for figure in expected.get("figures", []):
        slack = figure["bytes"] * figure["tolerance"]
        check(any(abs(number - figure["bytes"]) <= slack for number in numbers(document)),
              f"nowhere {figure['name']}: {figure['bytes']} +- {slack:.0f}\n{text}")
    for word in expected["forbidden"]:
        check(not re.search(rf"\b{re.escape(word)}\b", text, re.I), f"it says '{word}'\n{text}")
    for pattern in expected.get("says", []):
        check(re.search(pattern, text, re.I), f"it does not say {pattern}\n{text}")
    if "remedy" in expected:
        remedy = json.dumps(document.get("remedy"))
        check(re.search(expected["remedy"], remedy, re.I), f"remedy {remedy}, wanted {expected['remedy']}")
    if "next_measurement" in expected:
        check(re.search(expected["next_measurement"], str(document.get("next_measurement") or ""), re.I),
              f"next measurement {document.get('next_measurement')}, wanted {expected['next_measurement']}")


def assert_sound(document):
    """What holds of every verdict, whatever the evidence."""
    check(document["sentence"], "no sentence")
    if document["code"] not in MILD:
        check(document["evidence"], f"{document['code']} without evidence: {document['sentence']}")
    if document["code"] == "UNKNOWN":
        check(document.get("next_measurement"), "UNKNOWN without a next measurement")
    check(sum(row["bytes"] for row in document["accounts"]) == (document.get("rss_bytes") or 0),
          f"the accounts do not sum up to RSS: {document['accounts']}")


def text_of(directory):
    done = doctor(directory)
    check(done.returncode in (0, 4), f"exit {done.returncode}: {done.stderr}")
    for line in done.stdout.splitlines():
        check(len(line) <= 100, f"a line of {len(line)} columns: {line}")
    check(len(done.stdout.splitlines()) <= 50, f"more than a screen\n{done.stdout}")
    return done.stdout


def cases():
    for case in CASES:
        yield case.name, lambda case=case: case_holds(case)


def case_holds(case):
    document = verdict_of(case)

    assert_sound(document)
    assert_expected(case, json.loads((case / "expected.json").read_text()), document, text_of(case))


def is_pair(case):
    return (case / "a").is_dir()


# --- Changed cases ---------------------------------------------------------------------------


def multiplied(figure, factor):
    """What stands for no limit stays that."""
    return figure if int(figure) >= 1 << 60 else str(int(int(figure) * factor))


def scaled_text(text, factor):
    """Every figure of bytes; of a line of smaps that begins a mapping, none."""
    lines = []
    for line in text.splitlines():
        counts = re.match(r"Threads:|oom|low|high|max |[0-9a-f]+-[0-9a-f]+ |.*\[", line)
        lines.append(line if counts else re.sub(r"(?<![\w.])\d+(?=(?:kB| kB)?\b)(?!\s*\()",
                                                lambda at: multiplied(at.group(), factor), line))
    return "\n".join(lines) + "\n"


def scaled(node, factor, key=""):
    if isinstance(node, dict):
        return {name: scaled(value, factor, name) for name, value in node.items()}
    if isinstance(node, list):
        return [scaled(value, factor, key) for value in node]
    if key.endswith("bytes") and isinstance(node, (int, float)) and not isinstance(node, bool):
        return int(node * factor)
    return node


def copy_scaled(case, target, factor):
    target.mkdir()
    for path in case.iterdir():
        if path.name == "expected.json":
            continue
        if path.is_dir():
            copy_scaled(path, target / path.name, factor)
        elif path.name == "ledger.json":
            (target / path.name).write_text(json.dumps(scaled(json.loads(path.read_text()), factor)))
        else:
            (target / path.name).write_text(scaled_text(path.read_text(), factor))


def scaling():
    """All figures ten times as large: the same verdict. A tenth: none without evidence. A tenth of a per mille: nobody's fault."""
    for case in CASES:
        # A number that wrapped; threads whose number stays, with more memory each than a stack has.
        if "wrapped" in case.name or case.name == "39-java-threads":
            continue
        yield case.name, lambda case=case: scales(case)


def scales(case):
    expected = json.loads((case / "expected.json").read_text())
    with tempfile.TemporaryDirectory(prefix="ebb-doctor-") as scratch:
        for name, factor in (("large", 10), ("small", 0.1), ("tiny", 0.0001)):
            target = pathlib.Path(scratch) / name
            copy_scaled(case, target, factor)
            document = verdict_of(target)
            assert_sound(document)
            if factor > 1 and not set(expected["code"]) & set(MILD):
                check(document["code"] in expected["code"], f"times {factor}: {document['code']}: {document['sentence']}")
            ledger = json.loads((case / "ledger.json").read_text()) if (case / "ledger.json").exists() else {}
            largest = max(numbers(ledger), default=0)
            if factor < 0.001 and largest * factor < 1 << 20 and not (case / "memory.max").exists():
                check(not document["code"].startswith("ALLOC_"), f"of some KiB: {document['sentence']}")


def leaves(node, path=()):
    if isinstance(node, dict):
        for key, value in node.items():
            yield from leaves(value, path + (key,))
    if path:
        yield path


def without(node, path):
    node = json.loads(json.dumps(node))
    at = node
    for key in path[:-1]:
        at = at[key]
    del at[path[-1]]
    return node


def thinner(case, scratch):
    """The case without one file, one line, one key of its ledger."""
    files = [path for path in case.iterdir() if path.name != "expected.json"]
    for path in files:
        if len(files) > 1:
            yield path.name, {each.name: each.read_text() for each in files if each != path}
        if path.name == "ledger.json":
            document = json.loads(path.read_text())
            for keys in leaves(document):
                changed = {each.name: each.read_text() for each in files}
                changed[path.name] = json.dumps(without(document, keys))
                yield ".".join(keys), changed
        elif path.name != "smaps":
            lines = path.read_text().splitlines()
            for i in range(len(lines) if len(lines) > 1 else 0):
                changed = {each.name: each.read_text() for each in files}
                changed[path.name] = "\n".join(lines[:i] + lines[i + 1:]) + "\n"
                yield lines[i], changed


def thinning():
    """With a fact less: the same, or less; never a culprit whom what is left does not show."""
    for case in CASES:
        if not is_pair(case):
            yield case.name, lambda case=case: thins(case)


def thins(case):
    whole = verdict_of(case)
    with tempfile.TemporaryDirectory(prefix="ebb-doctor-") as scratch:
        for i, (gone, files) in enumerate(thinner(case, scratch)):
            target = pathlib.Path(scratch) / str(i)
            target.mkdir()
            for name, text in files.items():
                (target / name).write_text(text)
            done = doctor("--json", target)
            if done.returncode == 3 or done.returncode == 2:  # the file that is left says nothing any more
                check(len(done.stderr.splitlines()) == 1, f"without {gone}: {done.stderr}")
                continue
            document = verdict_of(target)
            assert_sound(document)
            check(document["code"] in MILD or document["code"] in codes(whole) or document["evidence"],
                  f"without {gone}: {document['code']}: {document['sentence']}")
            for row in document["evidence"]:
                check(row.get("bytes") is not None or row.get("value") is not None, f"without {gone}: {row} is not known")


def resident_alone():
    """Of a process of which only RSS is known, nobody is blamed, at any size."""
    for kib in (1000, 100_000, 10_000_000, 1_000_000_000):
        yield f"{kib} kB", lambda kib=kib: alone(kib)


def alone(kib):
    with tempfile.TemporaryDirectory(prefix="ebb-doctor-") as scratch:
        (pathlib.Path(scratch) / "status").write_text(f"VmRSS:\t{kib} kB\n")
        document = verdict_of(scratch)
        check(document["code"] in MILD, f"{document['code']}: {document['sentence']}")
        assert_sound(document)


# --- What is no case at all ------------------------------------------------------------------

HOSTILE = {
    "empty status": {"status": ""},
    "status of something else": {"status": "not a status\n"},
    "cut status": {"status": "VmRSS:"},
    "huge number": {"status": "VmRSS:\t99999999999999999999999 kB\n"},
    "number that wraps": {"status": "VmRSS:\t18014398509481984 kB\n"},
    "binary": {"memory.stat": "\0\1\2\377" * 100},
    "ledger cut off": {"ledger.json": '{"process": {"rss_bytes": 1'},
    "ledger a list": {"ledger.json": "[1, 2]"},
    "ledger of text": {"ledger.json": '{"process": {"rss_bytes": "much"}}'},
    "ledger below zero": {"ledger.json": '{"process": {"rss_bytes": -5}}'},
    "ledger twice a key": {"ledger.json": '{"process": {}, "process": {}}'},
    "ledger deep": {"ledger.json": "[" * 5000},
    "trial of no kind": {"ledger.json": '{"tried": [{"kind": "prayer"}]}'},
    "thp without brackets": {"thp": "always madvise never\n"},
    "oom without a process": {"oom": "nothing happened\n"},
    "smaps without a mapping": {"smaps": "Rss: 5 kB\n"},
    "nothing at all": {},
}


def hostile():
    for name, files in HOSTILE.items():
        yield name, lambda files=files: refused(files)
    yield "no such directory", lambda: refused(None)


def refused(files):
    with tempfile.TemporaryDirectory(prefix="ebb-doctor-") as scratch:
        target = pathlib.Path(scratch) / "case"
        if files is not None:
            target.mkdir()
            for name, text in files.items():
                (target / name).write_text(text, encoding="latin-1")
        done = doctor(target)
        check(done.returncode in (2, 3), f"exit {done.returncode}\n{done.stdout}")
        check(done.stdout == "", f"on stdout: {done.stdout}")
        check(len(done.stderr.splitlines()) == 1, f"{len(done.stderr.splitlines())} lines: {done.stderr}")


def damage():
    """Every file of every case cut at some place, and with some bytes changed: a verdict, or one line."""
    for case in CASES:
        yield case.name, lambda case=case: damaged(case)


def damaged(case):
    dice = random.Random(case.name)
    with tempfile.TemporaryDirectory(prefix="ebb-doctor-") as scratch:
        for i in range(3):
            target = pathlib.Path(scratch) / str(i)
            shutil.copytree(case, target)
            path = dice.choice(sorted(p for p in target.rglob("*") if p.is_file() and p.name != "expected.json"))
            content = bytearray(path.read_bytes())
            if i == 0:
                del content[dice.randrange(len(content)):]
            for _ in range(4 * i):
                content[dice.randrange(len(content))] = dice.randrange(256)
            path.write_bytes(content)
            done = doctor(target)
            check(done.returncode in (0, 2, 3, 4), f"exit {done.returncode}\n{done.stderr}")
            check(len(done.stderr.splitlines()) == (done.returncode in (2, 3)), f"on stderr: {done.stderr}")
            check(not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", done.stdout + done.stderr), "control characters")


# --- The table -------------------------------------------------------------------------------


def table(path):
    lines = ["# The cases of ebb doctor", "",
             "Written by `tests/doctor/run.py --table docs/doctor-cases.md` from a run; not by hand. *Grade* is how sure the cause of a",
             "public case is: A, somebody tried it; B, maintainers or documentation say so; C, never established.", "",
             "| case | what it is | grade | expected | found | |", "| --- | --- | --- | --- | --- | --- |"]
    kept = 0
    for case in CASES:
        expected = json.loads((case / "expected.json").read_text())
        document = verdict_of(case)
        try:
            case_holds(case)
            outcome = ""
            kept += 1
        except Failed as error:
            outcome = "**" + str(error).split("\n")[0].replace("|", "\\|") + "**"
        wanted = " or ".join(expected["code"]) + "".join(", " + code.replace("|", " or ") for code in expected.get("also", []))
        lines.append(f"| {case.name} | {expected['title']} ({expected['source']}) | {expected['grade']} | {wanted} | "
                     f"{', '.join(codes(document))} | {outcome} |")
    lines += ["", f"{kept} of {len(CASES)} cases give the expected verdict, figures, remedy and next measurement."]
    pathlib.Path(path).write_text("\n".join(lines) + "\n")


GROUPS = {"cases": cases, "scaling": scaling, "thinning": thinning, "alone": resident_alone, "hostile": hostile,
          "damage": damage}


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--table":
        table(sys.argv[2])
        return 0
    failures = count = 0
    for name, run in GROUPS[sys.argv[1]]():
        count += 1
        try:
            run()
        except Exception as error:
            failures += 1
            print(f"FAIL {name}: {error}")
    print(f"{count - failures} of {count} passed")
    return failures > 0 or count == 0


if __name__ == "__main__":
    sys.exit(main())
