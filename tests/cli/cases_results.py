"""output, save, json, report: what is printed and written, and that the command's own output is untouched."""

import json
import os
import subprocess

from lib import (EBB, MIB, SOURCE, check, document, ebb, environment, expect, free_port, program, run_json, temporary)

GLIBC = ["--allocator", "glibc"]


def output_very_long():
    for flags in [], ["--ready-log", "never said", "--ready-timeout", "60s"]:
        outcome = ebb("run", *GLIBC, *flags, "--", program("shout"), "20000000")
        text = ("0123456789" * 2000000)
        check(outcome.out.startswith(text + "\n") or outcome.out.startswith(text), "the output was changed")
        check(outcome.err.startswith("done\n"), f"stderr was changed: {outcome.err[:200]}")


def output_binary():
    blob = bytes(range(256)) * 64
    with temporary() as directory:
        with open(f"{directory}/blob", "wb") as file:
            file.write(blob)
        process = subprocess.run([EBB, "run", *GLIBC, "--", "cat", f"{directory}/blob"], capture_output=True,
                                 env=environment())
        check(process.stdout.startswith(blob), "bytes were changed")


def output_stdin_reaches_the_command():
    process = subprocess.run([EBB, "run", *GLIBC, "--", "cat"], input=b"from stdin\n", capture_output=True,
                             env=environment())
    check(process.stdout.startswith(b"from stdin\n"), f"{process.stdout}")


def output_closed_descriptors():
    process = subprocess.run(["sh", "-c", f"{EBB} run --allocator glibc -- true <&- >&- 2>&-"], env=environment())
    check(process.returncode == 0, f"exit {process.returncode}")


def output_reader_goes_away():
    """head ends after a line: ebb says nothing strange and does not hang."""
    process = subprocess.run(["bash", "-c", f"set -o pipefail; {EBB} run --allocator glibc -- yes | head -n 1"],
                             capture_output=True, text=True, timeout=60, env=environment())
    check(process.stdout == "y\n", f"{process.stdout}")


def output_no_colour_when_no_terminal():
    outcome = ebb("run", *GLIBC, "--", "true")
    check("\033" not in outcome.out + outcome.err, "escape sequences without a terminal")


def output_bytes():
    outcome = expect(ebb("run", *GLIBC, "--bytes", "--", program("touch"), "20", "3000"), code=0)
    expect(outcome, out=r"^  boot +2\d{7} +2\d{7} +\d{6,7}$")
    check("MiB" not in outcome.out, f"{outcome}")


def output_fits_eighty_columns():
    port = free_port()
    outcome = ebb("run", "--ready-tcp", f"127.0.0.1:{port}", "--rest", "1s", "--load", "true", "--",
                  program("server"), str(port))
    table = outcome.out[outcome.out.index("RSS"):]
    check(max(map(len, table.splitlines())) <= 80, f"{outcome}")


def output_command_with_odd_characters():
    outcome = ebb("run", *GLIBC, "--", "printf", "%s", "a\nb\033[1m'")
    expect(outcome, code=0, out=r"^printf %s 'a\?b\?\[1m'\\'''$")


# --- save


def save_is_the_same_document():
    with temporary() as directory:
        path = f"{directory}/run.json"
        outcome = ebb("run", "--json", *GLIBC, "--save", path, "--", "true")
        expect(outcome, code=0)
        check(open(path).read() == outcome.out, "the file and stdout differ")
        check(os.stat(path).st_mode & 0o777 == 0o666 & ~current_umask(), "an ordinary file has other rights")
        check(os.listdir(directory) == ["run.json"], f"something is left: {os.listdir(directory)}")


def current_umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def save_replaces_at_once_and_follows_links():
    with temporary() as directory:
        real, link = f"{directory}/real", f"{directory}/link"
        with open(real, "w") as file:
            file.write("old")
        os.symlink(real, link)
        expect(ebb("run", *GLIBC, "--save", link, "--", "true"), code=0, out=r"under glibc")
        check(os.path.islink(link), "the link was replaced")
        check(json.load(open(real))["schema"] == "ebb.run/1", "the file behind the link is as it was")


def save_full_disk():
    outcome = ebb("run", *GLIBC, "--save", "/dev/full", "--", "true")
    expect(outcome, code=3, err=r"\Aebb: /dev/full: No space left on device: the result was not saved\n\Z")
    expect(outcome, out=r"^  peak ")
    check(os.path.exists("/dev/full") and not os.path.isfile("/dev/full"), "the device was replaced")


def save_full_file_system():
    """A file system of one page: the old file stays whole and nothing else is left."""
    if os.getuid() != 0:
        return save_size_limit()
    with temporary() as directory:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "none", directory], check=True)
        try:
            check_old_file_stays(directory)
        finally:
            subprocess.run(["umount", directory], check=True)
    return None


def check_old_file_stays(directory):
    path = f"{directory}/run.json"
    with open(path, "w") as file:
        file.write("old" * 1200)
    outcome = ebb("run", *GLIBC, "--save", path, "--", "true")
    expect(outcome, code=3, err=r"No space left on device: the result was not saved", err_lines=1)
    check(open(path).read() == "old" * 1200 and os.listdir(directory) == ["run.json"], f"{os.listdir(directory)}")


def save_size_limit():
    with temporary() as directory:
        process = subprocess.run(["bash", "-c", f"trap '' XFSZ; ulimit -f 1; {EBB} run --allocator glibc --save "
                                  f"{directory}/x.json -- true"], capture_output=True, text=True, env=environment())
        check(process.returncode == 3 and "File too large" in process.stderr, f"{process}")
        check(os.listdir(directory) == [], f"something is left: {os.listdir(directory)}")


def save_exit_code_of_the_command_wins():
    expect(ebb("run", *GLIBC, "--save", "/dev/full", "--", "sh", "-c", "exit 8"), code=8, err=r"not saved")


# --- json

KEYS = ["accounts", "allocator", "basis", "boot", "command", "ebb_version", "ended", "executable", "killed", "label", "last", "load", "load_end",
        "machine", "notes", "outcome", "peak", "ready", "resting", "schema", "started_at", "timeline", "tool", "totals"]


def json_document():
    # Long enough for a busy machine to see it idle.
    result = run_json(*GLIBC, "--label", "mine", "--", "sh", "-c", "sleep 3")
    check(sorted(result) == KEYS, f"keys {sorted(result)}")
    check(result["schema"] == "ebb.run/1" and result["label"] == "mine", f"{result['schema']}")
    check(result["command"] == ["sh", "-c", "sleep 3"], f"{result['command']}")
    machine = result["machine"]
    check(machine["kernel"] == os.uname().release and machine["cpus"] == os.sysconf("SC_NPROCESSORS_ONLN"), f"{machine}")
    check(machine["thp"] in ("always", "madvise", "never", "unknown"), f"{machine}")
    check(result["boot"]["bytes"] > 0 and result["boot"]["source"] == "smaps_rollup", f"{result['boot']}")
    check(result["peak"]["bound_bytes"] > 0 and result["peak"]["source"] in ("vmhwm", "wait4", "samples"), "no source")
    check(len(result["timeline"]) > 3 and all(len(p) == 2 for p in result["timeline"]), "no timeline")


def json_stdout_is_the_document_alone():
    outcome = ebb("run", "--json", *GLIBC, "--rest", "0s", "--load", "echo from the load", "--", "sh", "-c",
                  "echo from the command; exec sleep 30")
    document(expect(outcome, code=0, err=r"from the command\nfrom the load"))


def json_not_utf8():
    process = subprocess.run([EBB, "run", "--json", *GLIBC, "--", "printf", b"\xff\xfe"], capture_output=True,
                             env=environment())
    check(json.loads(process.stdout)["command"] == ["printf", "??"], f"{process.stdout[:300]}")


def keys_of(value):
    """Every key in a document, but for the statistics, which docs/statistics.md has."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            if key != "main":
                yield from keys_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys_of(inner)


def json_every_key_is_documented():
    text = (SOURCE / "docs/result-format.md").read_text()
    result = run_json("--rest", "1s", "--load", "true", "--", "sh", "-c", "sleep 30")
    missing = sorted({key for key in keys_of(result) if f"`{key}`" not in text})
    check(not missing, f"not in docs/result-format.md: {missing}")
    with temporary() as directory:
        report = document(expect(ebb("report", "--json", *six(directory)), code=0))
        compare = document(ebb("compare", "--json", "--runs", "1", "--allocators", "glibc,ebb", "--", "true"))
        for key in "runs", "variants":
            del compare[key]
        missing = sorted({key for part in (report, compare) for key in keys_of(part) if f"`{key}`" not in text})
        check(not missing, f"not in docs/result-format.md: {missing}")


def json_of_before_the_accounts():
    """Results of an ebb that had no account table yet are compared as before."""
    with temporary() as directory:
        paths = six(directory)
        result = json.load(open(paths[0]))
        del result["accounts"]
        with open(paths[0], "w") as file:
            json.dump(result, file)
        check(document(expect(ebb("report", "--json", *paths), code=0))["groups"][0]["runs"] == 3, "not read")


def json_unknown_is_null():
    result = run_json(*GLIBC, "--", "true")
    check(result["boot"] is None and result["load"] is None and result["last"] is None, "unknown is not null")
    check(result["accounts"] is None, f"a table of nothing: {result['accounts']}")
    check(result["ready"]["seconds"] is None, f"{result['ready']}")


# --- report


def saved(directory, name, **changes):
    """A result, made from a real one."""
    path = f"{directory}/{name}.json"
    if not os.path.exists(f"{directory}/.base"):
        result = run_json(*GLIBC, "--rest", "0s", "--load", "true", "--", "sleep", "9")
        for seconds in 1, 5:
            result["resting"].append(dict(result["load_end"], after_seconds=seconds))
        with open(f"{directory}/.base", "w") as file:
            json.dump(result, file)
    result = json.load(open(f"{directory}/.base"))
    for key, value in changes.items():
        target = result
        *parts, last = key.split("__")
        for part in parts:
            target = target[int(part) if part.isdigit() else part]
        target[last] = value
    with open(path, "w") as file:
        json.dump(result, file)
    return path


def six(directory):
    paths = []
    for i, (glibc, other) in enumerate([(281, 141), (280, 144), (290, 139)]):
        paths.append(saved(directory, f"g{i}", label="glibc", peak__bytes=glibc * MIB, resting__1__bytes=264 * MIB))
        paths.append(saved(directory, f"e{i}", label="ebb", peak__bytes=other * MIB, resting__1__bytes=(264 - i) * MIB))
    return paths


def report_side_by_side():
    with temporary() as directory:
        outcome = expect(ebb("report", *six(directory)), code=0, err_lines=0)
        expect(outcome, out=r"^3 runs each of glibc, ebb; change, shift and effect are against glibc$")
        expect(outcome, out=r"^ +median +min \.\. max +change +shift +effect$")
        expect(outcome, out=r"^  peak +glibc +281\.0 MiB +280\.0 \.\. 290\.0$")
        expect(outcome, out=r"^ +ebb +141\.0 MiB +139\.0 \.\. 144\.0 +-50 % +-14\d\.0 MiB +-1\.00$")
        expect(outcome, out=r"^lowest: boot no difference, peak ebb \(-50 %\), resting no difference,")
        expect(outcome, out=r"^peak +ebb is lowest, 140\.0 MiB \(50 %\) below glibc \(ranges apart, but of 3")
        expect(outcome, out=r"^resting +no difference \(0\.0 %\): glibc and ebb are within 0\.0 MiB of anonymous")
        check(max(map(len, outcome.out.splitlines())) <= 80, f"{outcome}")


def arms(directory, **groups):
    """Runs of each label, from lists of (resting RSS, anonymous, swap) in MiB; the peak goes with the RSS."""
    paths = []
    for label, runs in groups.items():
        for i, (rss, anonymous, swap) in enumerate(runs):
            paths.append(saved(directory, f"{label}{i}", label=label, allocator__name=label, peak__bytes=rss * MIB,
                               resting__1__bytes=rss * MIB, resting__1__anonymous_bytes=anonymous * MIB,
                               resting__1__swap_bytes=swap * MIB))
    return document(expect(ebb("report", "--json", *paths), code=0))["conclusions"][0]["phases"]


def report_judges_by_anonymous_memory():
    """Totals that differ in the pages of a data file are not the allocator's (figures of published cases)."""
    with temporary() as directory:
        resting = arms(directory, mimalloc=[(979 + i, 150 + i / 10, 0) for i in range(4)],
                       glibc=[(1100 + i, 150 + i / 10, 0) for i in range(4)])["resting"]
        check(resting["verdict"] == "same" and resting["totals_differ_by_file_pages"], f"{resting}")
        check(resting["sentence"].startswith("the allocator makes no difference (0.0 %)"), f"{resting}")
        check("pages of files alone" in resting["sentence"], f"{resting}")
    with temporary() as directory:
        # Swapped memory is needed, too: 20000 encodes, 11143 and 7003 MB of anonymous and swapped memory.
        resting = arms(directory, glibc=[(5000, 4990 + i, 6153) for i in range(4)],
                       pinned=[(6900, 6890 + i, 113) for i in range(4)])["resting"]
        check(resting["verdict"] == "lowest" and resting["lowest"] == "pinned" and abs(resting["share"] - 0.37) < 0.01,
              f"{resting}")
    with temporary() as directory:
        # One arm oscillates, the other is flat; three runs against one are too few for chance, not for the ranges.
        resting = arms(directory, glibc=[(1150, 1150, 0), (1135, 1135, 0), (1126, 1126, 0)],
                       jemalloc=[(448, 448, 0), (440, 440, 0), (452, 452, 0)])["resting"]
        check(resting["lowest"] == "jemalloc" and abs(resting["share"] - 0.605) < 0.01, f"{resting}")
        check("chance does that 1 time in 10" in resting["sentence"], f"{resting}")


def report_judges_trees_by_pss():
    """Of 24 workers, anonymous pages that they share since the fork would count 24 times (a published case: 1791.5 and 1236.9 MB)."""
    with temporary() as directory:
        paths = [saved(directory, f"{label}{i}", label=label, basis="pss", resting__1__bytes=(pss + i) * MIB,
                       resting__1__anonymous_bytes=5000 * MIB)
                 for label, pss in (("plain", 1791), ("frozen", 1236)) for i in range(4)]
        resting = document(expect(ebb("report", "--json", *paths), code=0))["conclusions"][0]["phases"]["resting"]
        check(resting["verdict"] == "lowest" and resting["lowest"] == "frozen", f"{resting}")
        check(resting["figure"] == "resting_last_bytes" and abs(resting["share"] - 0.31) < 0.01, f"{resting}")


def report_is_not_sure_of_noise():
    with temporary() as directory:
        paths = [saved(directory, f"{label}{i}", label=label, peak__bytes=value * MIB)
                 for label, values in {"a": (100, 180, 130, 150), "b": (120, 110, 190, 170)}.items()
                 for i, value in enumerate(values)]
        expect(ebb("report", *paths), code=0, out=r"^peak +inconclusive: the ranges of a \(100\.0 MiB to 180\.0 MiB\)")


def report_refuses_different_work():
    with temporary() as directory:
        paths = [saved(directory, f"{label}{i}", label=label, load__work=work)
                 for label, work in (("a", 1000), ("b", 800)) for i in range(2)]
        expect(ebb("report", *paths), out=r"^not comparable: the runs served from 800 to 1000, and")
        paths = [saved(directory, f"{label}{i}", label=label, load__work=work)
                 for label, work in (("a", 1000), ("b", 980)) for i in range(2)]
        expect(ebb("report", *paths), code=0, out=r"^lowest: ")


def report_json():
    with temporary() as directory:
        result = document(expect(ebb("report", "--json", *six(directory)), code=0))
        check(result["schema"] == "ebb.report/1", result["schema"])
        ebb_group = [g for g in result["groups"] if g["label"] == "ebb"][0]
        peak = ebb_group["peak_bytes"]
        check(peak["median"] == 141 * MIB and peak["apart_from_first"] and peak["cliffs_delta"] == -1, f"{ebb_group}")
        check(abs(peak["chance"] - 0.1) < 1e-9 and peak["shift"] == -141 * MIB, f"{peak}")
        phases = result["conclusions"][0]["phases"]
        check(phases["peak"]["verdict"] == "lowest" and phases["peak"]["lowest"] == "ebb", f"{phases['peak']}")
        check(phases["resting"]["verdict"] == "same" and phases["resting"]["figure"] == "resting_anonymous_bytes",
              f"{phases['resting']}")


def report_of_real_runs():
    with temporary() as directory:
        for label in "a", "b":
            expect(ebb("run", *GLIBC, "--label", label, "--rest", "1s", "--load", "true", "--save",
                       f"{directory}/{label}.json", "--", "sleep", "30"), code=0)
        expect(ebb("report", f"{directory}/a.json", f"{directory}/b.json"), code=0, out=r"^1 run each of a, b; ")


def report_refuses():
    with temporary() as directory:
        base = saved(directory, "base")
        for changes, code, line in (
            ({"machine__kernel": "9.9"}, 4, r"not comparable: the kernel is .* in .*base\.json and 9\.9 in .*x\.json$"),
            ({"machine__thp": "sometimes"}, 4, r"not comparable: the huge page setting"),
            ({"machine__cpus": 77}, 4, r"not comparable: the number of CPUs is \d+ in .* and 77 in "),
            ({"basis": "pss"}, 4, r"not comparable: the kind of figure"),
            ({"load": None}, 4, r"not comparable: a load is present in .* and absent in "),
            ({"allocator__build_id": "beef"}, 4, r"not comparable: the allocator of one label is one in .* and another"),
            ({"executable__build_id": "beef"}, 4, r"not comparable: the program of one label is one in"),
            ({"outcome": "load-failed"}, 4, r"the run was not completed \(load-failed\)"),
            ({"allocator__preload": "missed"}, 4, r"the allocator was not in the command"),
            ({"schema": "ebb.run/2"}, 2, r"written by another version of ebb; this one reads ebb\.run/1"),
            ({"schema": "something"}, 2, r"is no result that ebb saved"),
            ({"schema": 7}, 2, r"is no result that ebb saved"),
            ({"label": None}, 2, r"has no label"),
            ({"machine": []}, 2, r"does not say on what machine"),
            ({"machine__cpus": -1}, 2, r"does not say on what machine"),
        ):
            outcome = ebb("report", base, saved(directory, "x", **changes))
            expect(outcome, code=code, err=line, err_lines=1)


def report_strange_files():
    with temporary() as directory:
        base = open(saved(directory, "base")).read()
        for text, line in (("", r":1:0: no JSON"), ("{", r":1:\d+: no JSON"), ("[]", r"is no result"),
                           (base[: len(base) // 2], r":1:\d+: no JSON"), ("null", r"is no result|no JSON"),
                           ('{"a":1e999}', r"no JSON"), ("\xff\xfe", r"no JSON"), ("[" * 100000, r"no JSON")):
            with open(f"{directory}/x.json", "w", encoding="latin-1") as file:
                file.write(text)
            expect(ebb("report", f"{directory}/x.json"), code=2, err=line, err_lines=1)
