"""promises: ebb check: promises kept, broken, not measured and not comparable; what continuous integration gets; --init."""

import json
import os
import pathlib
import re
import signal
import subprocess
import time
import xml.etree.ElementTree as xml

from lib import EBB, MIB, check, document, ebb, environment, expect, free_port, program, start, finish, temporary

LIMITS = "boot: 40M\npeak: 90M\nresting: 60M"


def promise(directory, limits=LIMITS, more="", burst=30, hold=20, name="p.yaml", runs=1, extra=()):
    """A promise of the test server, which holds `hold` MiB and bursts by `burst`."""
    port = free_port()
    words = ", ".join([program("server"), f'"{port}"', f"hold={hold}", *extra])
    path = pathlib.Path(directory) / name
    rows = "".join(f"  {line}\n" for line in limits.splitlines())
    path.write_text(
        f"name: test server\ncommand: [{words}]\nready: {{tcp: '127.0.0.1:{port}'}}\n"
        f"load: 'curl -sf http://127.0.0.1:{port}/burst?{burst}'\nrest: 200ms\nruns: {runs}\n{more}limits:\n{rows}")
    return str(path)


def run(path, *arguments, code=0, **more):
    return expect(ebb("check", path, *arguments, **more), code=code)


def promises_kept():
    with temporary() as directory:
        outcome = run(promise(directory, runs=2, limits=LIMITS + "\nheld: 50M\ncpu: 20s\naccounts: {libc.so.6: 9M, stacks: 2M}"))
        expect(outcome, out=r"\Atest server: the promise is kept\n2 fresh runs under ebb, 0.2 s at rest\n", err_lines=0)
        expect(outcome, out=r"^  boot +40\.0 MiB +2\d\.\d MiB +2\d\.\d MiB +2\d\.\d MiB +5\d %  kept$")
        for row in "resting", "held", "cpu", "libc.so.6", "stacks":
            expect(outcome, out=rf"^  {row} .* kept$")
        check(max(map(len, outcome.out.splitlines())) <= 80, f"{outcome}")
        check("who held it" not in outcome.out and "HEALTHY" not in outcome.out and "::" not in outcome.out, f"{outcome}")


def promises_broken():
    with temporary() as directory:
        path = promise(directory, limits="boot: 40M\npeak: 40M\nresting: 60M")
        outcome = run(path, code=1)
        expect(outcome, out=r"\Atest server: the promise is BROKEN: 1 of 3 limits\n", err_lines=0)
        expect(outcome, out=rf"^{re.escape(path)}:9: peak is 5\d\.\d MiB in run 1; promised: at most 40\.0 MiB$")
        expect(outcome, out=r"^who held it in run 1, the worst:\n\nserver\n\n[A-Z_]+: ")
        expect(outcome, out=r"^  live heap +\d\d\.")
        expect(outcome, out=r"^  RSS +\d\d\.\d +100\.0$")


def promises_json():
    with temporary() as directory:
        path = promise(directory, limits="peak: 40M\ncpu: {most: 20s, keep: median}", runs=2)
        saved = f"{directory}/saved.json"
        outcome = run(path, "--json", "--save", saved, code=1)
        result = document(outcome)
        check(open(saved).read() == outcome.out, "the file and stdout differ")
        check(sorted(result) == ["command", "ebb_version", "kept", "limits", "machine", "promise", "runs", "schema",
                                 "started_at", "verdict", "worst_run"], f"{sorted(result)}")
        check(result["schema"] == "ebb.check/1" and result["kept"] == "broken" and result["worst_run"] in (1, 2), "head")
        check([r["schema"] for r in result["runs"]] == ["ebb.run/1"] * 2, "runs")
        check(result["verdict"]["schema"] == "ebb.doctor/1" and result["verdict"]["code"], "the doctor's verdict")
        peak, cpu = result["limits"]
        check(peak["figure"] == "peak" and peak["most"] == 40 * MIB and peak["kept"] == "broken", f"{peak}")
        check(peak["measured"] == max(r["peak"]["bytes"] for r in result["runs"]), "the worst run decides")
        check(peak["low"] < peak["measured"] < peak["high"] and len(peak["values"]) == 2, f"{peak}")
        check(cpu["unit"] == "seconds" and cpu["keep"] == "median" and cpu["line"] == 9, f"{cpu}")


def promises_bounds_decide_nothing():
    """A limit within the error of the counters is neither kept nor broken."""
    with temporary() as directory:
        path = promise(directory, limits="peak: 900M")
        peak = document(run(path, "--json"))["limits"][0]
        path = promise(directory, limits=f"peak: {int(peak['measured'])}")
        outcome = run(path, code=4)
        expect(outcome, out=r"the promise is inconclusive", err_lines=0)
        expect(outcome, out=r"peak lies between 5\d\.\d MiB and 5\d\.\d MiB in run 1, and so does the limit of "
                            r"5\d\.\d MiB: give it more room$")


def promises_ratio():
    with temporary() as directory:
        first = promise(directory, runs=2)
        base = f"{directory}/base.json"
        run(first, "--save", base)
        text = pathlib.Path(first).read_text()

        def ratio(limits, name="r.yaml", alter=lambda text: text):
            path = pathlib.Path(directory) / name
            path.write_text(alter(text.split("limits:")[0] + "baseline: base.json\nlimits:\n" + limits))
            return str(path)
        outcome = run(ratio("  peak: 1.5x\n  resting: 1.5x\n"))
        expect(outcome, out=r"^  peak +(7|8)\d\.\d MiB ")
        outcome = run(ratio("  peak: 0.5x\n"), code=1)
        expect(outcome, out=r"peak is 5\d\.\d MiB in run [12]; promised: at most 2\d\.\d MiB \(0\.5x of the baseline\)$")
        # Another load is another promise, and another kernel another machine.
        outcome = run(ratio("  peak: 1.5x\n", alter=lambda t: t.replace("burst?30", "burst?31")), code=4)
        expect(outcome, err=r"\Aebb: not comparable: the load is another one in the baseline base.json", err_lines=1)
        other = json.load(open(base))
        for result in other["runs"]:
            result["machine"]["kernel"] = "5.10.0"
        json.dump(other, open(f"{directory}/other.json", "w"))
        expect(ebb("check", ratio("  peak: 1.5x\n"), "--baseline", f"{directory}/other.json"), code=4,
               err=r"not comparable: the kernel is another one", err_lines=1)
        expect(ebb("check", ratio("  peak: 1.5x\n"), "--baseline", "/dev/null"), code=2, err_lines=1)
        expect(ebb("check", ratio("  peak: 1.5x\n"), "--baseline", "/nonexistent"), code=2, err=r"/nonexistent", err_lines=1)


def promises_not_measured():
    with temporary() as directory:
        path = promise(directory, limits="accounts: {nobody: 9M}")
        outcome = run(path, code=3)
        expect(outcome, out=r"account nobody: no row of the account table has that name; there are .+")
        path = promise(directory, more="allocator: glibc\n", limits="held: 9M")
        expect(run(path, code=3), out=r"held: it is known under Ebb alone")
        path = promise(directory, extra=["die=7"])
        # A load that fails, too, might end first.
        pathlib.Path(path).write_text(pathlib.Path(path).read_text().replace("burst?30'", "burst?30 || sleep 2'"))
        outcome = run(path, "--junit", f"{directory}/x.xml", code=3)
        expect(outcome, err=r"\Aebb: run 1: the command ended before the measuring did: exit 7$")
        suite = xml.parse(f"{directory}/x.xml").getroot()[0]
        check(suite.get("errors") == "1" and suite[0][0].tag == "error", "JUnit says it, too")


def promises_last_lines_when_a_run_fails():
    with temporary() as directory:
        path = pathlib.Path(directory) / "p.yaml"
        path.write_text("command: 'echo no database; exit 4'\nlimits: {peak: 90M}\n")
        expect(run(str(path), code=3), err=r"\Aebb: run 1: .*exit 4\nthe command's last lines:\nno database\n\Z")
        path.write_text("command: [no-such-command]\nlimits: {peak: 90M}\n")
        expect(run(str(path), code=127), err=r"\Aebb: no-such-command: No such file or directory\n\Z")


def promises_work():
    with temporary() as directory:
        path = promise(directory)
        text = pathlib.Path(path).read_text()
        load = re.search(r"load: '(.*)'", text).group(1)
        for served, code in (5, 0), (4, 1):
            pathlib.Path(path).write_text(text.replace(
                f"load: '{load}'", f"load: {{command: '{load}; echo served {served} of 9', work: 'served ([0-9]+)', minimum: 5}}"))
            outcome = run(path, code=code)
        expect(outcome, out=r"work is 4 in run 1; promised: at least 5$")
        pathlib.Path(path).write_text(text.replace(f"load: '{load}'", f"load: {{command: '{load}', work: 'x([0-9])', minimum: 1}}"))
        expect(run(path, code=3), out=r"work: the load printed nothing that load.work matches")


def promises_directory_and_environment():
    """Everything begins at the promise file, but for what the command line names."""
    with temporary() as directory:
        inner = pathlib.Path(directory) / "inner"
        (inner / "srv").mkdir(parents=True)
        (inner / "p.yaml").write_text(
            "command: 'test \"$PWD\" = \"$WANTED\" && test \"$EBB_CONF\" = budget:64M,delay:1s'\n"
            f"directory: srv\nbudget: 64M\nconf: delay:1s\nenvironment: {{WANTED: '{inner}/srv'}}\nruns: 1\nlimits: {{peak: 50%}}\n")
        env = environment(EBB_CONF="delay:9s")
        process = subprocess.run([EBB, "check", "inner/p.yaml", "--save", "out.json", "--markdown", "out.md"], cwd=directory,
                                 env=env, capture_output=True, text=True, timeout=60)
        check(process.returncode == 0, f"{process}")
        check(json.load(open(f"{directory}/out.json"))["limits"][0]["most"] == 32 * MIB, "half of the budget")
        check(open(f"{directory}/out.md").read().startswith("### p.yaml: the promise is kept"), "no Markdown")


def promises_github():
    with temporary() as directory:
        path = promise(directory, limits="peak: 40M", name="a,b.yaml")
        text = pathlib.Path(path).read_text()
        pathlib.Path(path).write_text(text.replace("test server", '"50% of: it,\\nall"'))
        summary, junit = f"{directory}/s.md", f"{directory}/x.xml"
        pathlib.Path(summary).write_text("before\n")
        env = environment(GITHUB_ACTIONS="true", GITHUB_WORKSPACE=os.path.realpath(directory))
        outcome = run(path, "--markdown", summary, "--junit", junit, code=1, env=env)
        expect(outcome, out=r"^::error file=a%2Cb\.yaml,line=\d+,col=3,title=50%25 of%3A it%2C%0Aall%3A peak BROKEN::peak is 5")
        check(outcome.out.count("::error") == 1, f"{outcome}")
        text = open(summary).read()
        check(text.startswith("before\n### 50% of: it,?all: the promise is BROKEN\n"), text)
        check("| peak | 40.0 MiB |" in text and "**BROKEN** |" in text, text)
        suite = xml.parse(junit).getroot()[0]
        check(suite.get("tests") == "1" and suite.get("failures") == "1", "counts")
        check(suite[0].get("name") == "peak" and suite[0][0].tag == "failure", "case")
        outcome = run(path, "--json", code=1, env=env)
        document(outcome)
        expect(outcome, err=r"^::error file=")
        pathlib.Path(path).write_text("comand: x\n")
        expect(run(path, code=2, env=env), err_lines=1,
               out=r"\A::error file=a%2Cb\.yaml,line=1,col=1,title=ebb check::unknown key 'comand': did you mean command\?\n\Z")


def promises_bad_files():
    with temporary() as directory:
        path = f"{directory}/p.yaml"
        for text, wanted in (
            ("", r"1:1: this is no promise: begin with 'command: COMMAND' and 'limits:'"),
            ("command: x\nlimits:\n\tpeak: 1M\n", r"3:1: no YAML: .*: indent with blanks, not with tabs"),
            ("command: x\nlimits: {peek: 1M}\n", r"2:10: unknown key 'peek': did you mean peak\?"),
            ("command: x\nlimits: {peak: 1 apple}\n", r"2:16: peak: '1 apple': write a size such as 60M, .*"),
            ("a: &a [b]\nc: [*a, *a]\n", r"1:4: anchors and aliases .*"),
            ("#" * 70000, r" larger than 64 KiB: this is no promise file"),
            ("command: \x1b[1m\n", r".*"),
        ):
            pathlib.Path(path).write_text(text)
            expect(run(path, code=2), out=r"\A\Z", err=rf"\Aebb: {re.escape(path)}:{wanted}\n\Z", err_lines=1)
        pathlib.Path(path).write_bytes(b"command: \xff\xfe\n")
        expect(run(path, code=2), err=r"save the file as UTF-8 text", err_lines=1)
        expect(run(f"{directory}/none.yaml", code=2), err=r"No such file or directory: ebb check --init -o FILE", err_lines=1)
        expect(run(directory, code=2), err_lines=1)


def promises_usage():
    for arguments, wanted in (
        ([], r"no promise: ebb check PROMISE\.yaml .*"),
        (["a.yaml", "b.yaml"], r"one promise at a time: what is b\.yaml\?"),
        (["a.yaml", "--load", "x"], r"-o, --load, --budget and --ready-\* go with --init.*"),
        (["a.yaml", "--save", "/nonexistent/x"], r"/nonexistent/x: No such file or directory"),
        (["--init"], r"no command: ebb check --init .*"),
        (["--init", "--json", "--", "true"], r"--init writes a promise and nothing else.*"),
        (["--init", "--ready-tcp", ":1", "--", "true"], r"--ready-\* without --load.*"),
        (["--init", "-o", "/etc/hostname", "--", "true"], r"/etc/hostname: is there already: --init never overwrites.*"),
    ):
        expect(ebb("check", *arguments), code=2, out=r"\A\Z", err=rf"\Aebb: {wanted}\n\Z", err_lines=1)


def promises_init_writes_a_promise_that_is_kept():
    with temporary() as directory:
        port = free_port()
        path = f"{directory}/first.yaml"
        outcome = ebb("check", "--init", "-o", path, "--ready-tcp", f"127.0.0.1:{port}", "--rest", "200ms", "--budget", "256M",
                      "--load", f"curl -sf 'http://127.0.0.1:{port}/burst?30' # \"a\\b\"", "--", program("server"), str(port), "hold=20")
        expect(outcome, code=0, out=r"written; try it: ebb check", err_lines=0)
        text = open(path).read()
        for line in (r"# Written by ebb check --init on \d{4}-\d\d-\d\d from 3 runs on Linux", r"budget: 256M$", r"runs: 3$",
                     r"  boot: 2[34]M +# 21\.\d MiB to 2\d\.\d MiB$", r"  peak: \d\dM +# 5\d\.\d MiB to ", r"  held: \d+M ", r"  # cpu: "):
            check(re.search(line, text, re.M), f"no {line!r} in\n{text}")
        before = os.stat(path).st_mtime_ns
        expect(run(path, "--runs", "2"), out=r"the promise is kept")
        expect(ebb("check", "--init", "-o", path, "--", "true"), code=2, err=r"never overwrites")
        check(os.stat(path).st_mtime_ns == before, "the file was touched")


def promises_init_odd_words():
    outcome = expect(ebb("check", "--init", "--runs", "2", "--", "printf", "%s", 'a: "b"\n\\', "-x", "", "é"), code=0)
    check("""command: [printf, "%s", "a: \\"b\\"\\x0A\\\\", "-x", "", "é"]""" in outcome.out, f"{outcome}")
    with temporary() as directory:
        path = pathlib.Path(directory) / "p.yaml"
        path.write_text(outcome.out)
        run(str(path), "--runs", "1")


def promises_interrupted():
    with temporary() as directory:
        path = promise(directory, more="grace: 1s\n")
        text = pathlib.Path(path).read_text()
        pathlib.Path(path).write_text(text.replace("load: '", "load: 'sleep 30; "))
        process = start("check", path)
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        expect(finish(process), code=130, err=r"\Aebb: interrupted in run 1\n\Z")
