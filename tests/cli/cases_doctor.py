"""doctor on living processes, on what it saved of them, and on results; the frozen cases are in tests/doctor."""

import json
import os
import pathlib
import stat
import subprocess
import sys

from lib import EBB, LIB, MIB, check, document, ebb, environment, expect, near, program, temporary

SECRET = "correct-horse-battery"


class Process:
    """A process with 60 MiB that are live, a secret in its environment and one in its arguments."""

    def __init__(self, on_ebb=False):
        env = environment(PASSWORD=SECRET, **({"LD_PRELOAD": str(LIB / "libebb.so")} if on_ebb else {}))
        code = "import time\nx = bytearray(b'x') * (60 << 20)\ntime.sleep(1.5)\nprint('up', flush=True)\ntime.sleep(60)"
        self.process = subprocess.Popen([sys.executable, "-c", code, "--password", SECRET], env=env, stdout=subprocess.PIPE)
        self.process.stdout.readline()
        self.pid = str(self.process.pid)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def judged(*arguments):
    outcome = ebb("doctor", "--json", *arguments)
    check(outcome.code in (0, 4), f"{outcome}")
    return document(outcome)


def sums_up(verdict):
    check(sum(row["bytes"] for row in verdict["accounts"]) == verdict["rss_bytes"], f"accounts: {verdict['accounts']}")


def doctor_usage():
    for arguments, message in (
        ([], r"ebb doctor PID, RESULT or DIRECTORY"),
        (["1", "2"], r"one thing at a time"),
        (["/nowhere/at/all"], r"/nowhere/at/all: No such file.*give a PID"),
        (["/dev/null"], r"/dev/null"),
        (["--save", "x", "/"], r"--save and --stop need a living process"),
        (["--ledger", "redis", str(os.getpid())], r"--ledger 'redis': write NAME="),
    ):
        expect(ebb("doctor", *arguments), code=2, out=r"\A\Z", err=message, err_lines=1)


def doctor_nobody():
    process = subprocess.Popen(["true"])
    process.wait()
    expect(ebb("doctor", str(process.pid)), code=3, out=r"\A\Z", err=rf"process {process.pid}: there is none", err_lines=1)


def doctor_live():
    with Process() as process:
        verdict = judged(process.pid)
        sums_up(verdict)
        check(verdict["pid"] == int(process.pid) and verdict["command"].startswith("python"), f"{verdict}")
        check(verdict["rss_bytes"] > 60 * MIB, f"RSS {verdict['rss_bytes']}")
        check(verdict["evidence"] and all(row["source"] for row in verdict["evidence"]), f"{verdict['evidence']}")
        check(SECRET not in json.dumps(verdict), "the secret is in the verdict")
        text = expect(ebb("doctor", process.pid), out=r"^python\S*, process \d+$").out
        check("RSS" in text and "not accounted" in text and "not in RSS" in text, text)
        exact = ebb("doctor", "--bytes", process.pid).out
        check(any(word.isdigit() and int(word) > 60 * MIB for word in exact.split()), exact)


HEAP = """import ctypes, sys
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
libc.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
blocks = []
for i in range(100000):
    blocks.append(libc.malloc(1000))
    libc.memset(blocks[-1], 1, 1000)
for i, block in enumerate(blocks):
    if i % EVERY:
        libc.free(block)
print('up', flush=True)
sys.stdin.readline()
libc.malloc_trim(0)
print('trimmed', flush=True)
sys.stdin.readline()
"""


def doctor_heap():
    """What the walk says a trim would give back is what a trim gives back."""
    for every, code in ((64, "ALLOC_RETAINED"), (4, "ALLOC_FRAGMENTED")):
        process = subprocess.Popen([sys.executable, "-c", HEAP.replace("EVERY", str(every))], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, env=environment())
        try:
            process.stdout.readline()
            before = judged(str(process.pid))
            check(before["code"] == code, f"1 in {every} kept: {before['code']}: {before['sentence']}")
            sums_up(before)
            says = [row["bytes"] for row in before["evidence"] if row["fact"] == "allocator.trimmable_bytes"][0]
            process.stdin.write(b"\n")
            process.stdin.flush()
            process.stdout.readline()
            after = judged(str(process.pid))
            near(before["rss_bytes"] - after["rss_bytes"], says, MIB, f"1 in {every} kept: what a trim gave back")
            check(after["code"] != "ALLOC_RETAINED", f"after the trim: {after['sentence']}")
        finally:
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()


def doctor_under_ebb():
    with Process(on_ebb=True) as process:
        verdict = judged(process.pid)
        sums_up(verdict)
        live = [row["bytes"] for row in verdict["evidence"] if row["source"] == "ebb snapshot"]
        check(live and max(live) > 60 * MIB, f"no figure of the snapshot: {verdict['evidence']}")
        check(not verdict["code"].startswith("ALLOC_"), f"{verdict['sentence']}")


def doctor_ledger():
    with Process() as process:
        for bytes_told, code in ((62 * MIB, "LIVE_LEDGER"), (1000 * MIB, "INSTRUMENT")):
            verdict = judged(process.pid, "--ledger", f"cache=echo {bytes_told}")
            check(any(row.get("bytes") == bytes_told for row in verdict["evidence"]) or verdict["code"] != code,
                  f"{verdict['code']}: {verdict['evidence']}")
            if bytes_told < verdict["rss_bytes"]:
                check(verdict["code"] == code, f"{verdict['code']}: {verdict['sentence']}")
        expect(ebb("doctor", process.pid, "--ledger", "cache=exit 1"), err=r"--ledger cache=exit 1: ", err_lines=1)


def doctor_save():
    with Process() as process, temporary() as scratch:
        target = pathlib.Path(scratch) / "saved"
        living = judged(process.pid, "--save", target)
        check(stat.S_IMODE(target.stat().st_mode) == 0o700, f"mode {target.stat().st_mode:o}")
        names = sorted(path.name for path in target.iterdir())
        check("status" in names and "smaps_rollup" in names and "ledger.json" in names, f"{names}")
        for path in target.iterdir():
            check(path.name not in ("environ", "cmdline"), f"{path} was saved")
            check(SECRET not in path.read_text(errors="replace"), f"the secret is in {path}")
        saved = judged(target)
        check(saved["code"] == living["code"], f"{living['code']} alive, {saved['code']} saved: {saved['sentence']}")
        near(saved["rss_bytes"], living["rss_bytes"], MIB, "RSS of the saved files")
        sums_up(saved)
        expect(ebb("doctor", process.pid, "--save", str(target)), code=3, out=r"\A\Z", err=r"--save: .*exists", err_lines=1)


def doctor_save_without_room():
    """As on a full disk: nothing is left that looks like evidence."""
    with Process() as process, temporary() as scratch:
        target = pathlib.Path(scratch) / "saved"
        done = subprocess.run(["sh", "-c", f"trap '' XFSZ; ulimit -f 1; exec {EBB} doctor {process.pid} --save {target}"],
                              capture_output=True, text=True, timeout=20)
        check(done.returncode == 3 and done.stdout == "", f"exit {done.returncode}: {done.stdout}")
        check("--save: " in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr)
        check(not target.exists(), "the directory is still there")


def doctor_result():
    with temporary() as scratch:
        path = str(pathlib.Path(scratch) / "run.json")
        expect(ebb("run", "--allocator", "glibc", "--save", path, "--", program("touch"), "40", "1500"), code=0)
        verdict = judged(path)
        check(verdict["rss_bytes"] > 0, f"{verdict}")
        sums_up(verdict)
        pathlib.Path(path).write_text(pathlib.Path(path).read_text()[:-40])
        expect(ebb("doctor", path), code=2, out=r"\A\Z", err=r"run\.json: line \d+: ", err_lines=1)


def doctor_result_with_figures_from_before_the_mark():
    """libebb's figures may be a second old: what it held then may be more than what is resident now."""
    mark = {"bytes": 32 * MIB, "rss_bytes": 32 * MIB, "anonymous_bytes": 25 * MIB, "processes": 1,
            "ebb": {"processes": 1, "live_bytes": 20 * MIB, "held_bytes": 49 * MIB}}
    with temporary() as scratch:
        path = pathlib.Path(scratch) / "run.json"
        path.write_text(json.dumps({"schema": "ebb.run/1", "command": ["server"], "resting": [mark], "boot": None}))
        verdict = judged(path)
        check(verdict["code"] == "HEALTHY", f"{verdict['code']}: {verdict['sentence']}")
