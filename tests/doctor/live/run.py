#!/usr/bin/python3
"""ebb doctor on living programs that are a case (live.c): the verdict's code, and its number against what the program knows.

`run.py PATTERN...` starts the program with each pattern. Exit code 77: this machine cannot make the pattern.
"""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

EBB = str(pathlib.Path(os.environ["EBB_BIN_DIR"]) / "ebb")
PROGRAMS = pathlib.Path(os.environ["EBB_LIVE_PROGRAMS"])
MIB = 1 << 20
SIZE = 128  # MiB
V1 = pathlib.Path("/sys/fs/cgroup/memory")
V2 = pathlib.Path("/sys/fs/cgroup")
# Codes that are right, which of the program's figures is the verdict's number, and how far it may be off.
PATTERNS = {
    "lazyfree": (["LAZYFREE"], "lazyfree", 0.02),
    "file_mmap": (["FILE_MMAP"], "data", 0.05),
    "shmem": (["SHMEM"], "shmem", 0.02),
    "stacks": (["STACKS"], "stacks", 0.05),
    "thp": (["THP"], "huge", 0.02),
    "page_cache": (["PAGE_CACHE"], "cache", 0.05),
    "cow_fork": (["COW_FORK"], "copied", 0.02),
    "sock": (["SOCK"], "sock", 0.05),
}


class Skipped(Exception):
    pass


class Failed(Exception):
    pass


def check(condition, message):
    if not condition:
        raise Failed(message)


@contextlib.contextmanager
def group():
    """A memory control group of this test's own; it is gone afterwards."""
    base = V1 if (V1 / "memory.limit_in_bytes").exists() else V2
    path = base / f"ebb-live-{os.getpid()}"
    try:
        path.mkdir()
    except OSError as error:
        raise Skipped(f"no control group can be made: {error}")
    try:
        if not (path / "memory.stat").exists():
            raise Skipped("the groups that can be made have no memory controller")
        yield path
    finally:
        path.rmdir()


def sock_bytes(path):
    """What the kernel counts as socket buffers of the group; None when it counts none."""
    v1 = path / "memory.kmem.tcp.usage_in_bytes"
    if v1.exists():
        return int(v1.read_text())
    return next((int(line.split()[1]) for line in (path / "memory.stat").read_text().splitlines()
                 if line.startswith("sock ")), None)


@contextlib.contextmanager
def living(pattern, size, directory, inside=None):
    """The program with its pattern made, and the figures it printed."""
    program = PROGRAMS / ("live-second" if pattern == "second_allocator" else "live")

    def enter():
        if inside:
            (inside / "cgroup.procs").write_text(str(os.getpid()))

    process = subprocess.Popen([str(program), pattern, str(size)], stdout=subprocess.PIPE, cwd=directory, text=True,
                               preexec_fn=enter)
    try:
        words = process.stdout.readline().split()
        if not words:
            raise Skipped(f"the program ended with {process.wait()}")
        yield process, {name: int(value) for name, value in (word.split("=") for word in words[1:])}
    finally:
        process.kill()
        process.wait()


def verdict(process):
    done = subprocess.run([EBB, "doctor", "--json", str(process.pid)], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=20)
    check(done.returncode in (0, 4), f"exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout), done.stdout


def numbers(node):
    if isinstance(node, dict):
        node = list(node.values())
    if isinstance(node, list):
        for value in node:
            yield from numbers(value)
    elif isinstance(node, (int, float)) and not isinstance(node, bool):
        yield node


def holds(pattern):
    codes, figure, tolerance = PATTERNS[pattern]
    with contextlib.ExitStack() as stack:
        # Not on a tmpfs, whose pages are no page cache.
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="ebb-live-", dir=PROGRAMS))
        inside = stack.enter_context(group()) if pattern in ("page_cache", "sock") else None
        if pattern == "sock" and (inside / "memory.kmem.tcp.limit_in_bytes").exists():
            # Version 1 counts them only where they have a limit.
            (inside / "memory.kmem.tcp.limit_in_bytes").write_text(str(1 << 40))
        process, truth = stack.enter_context(living(pattern, SIZE, directory, inside))
        if pattern == "thp":
            rollup = pathlib.Path(f"/proc/{process.pid}/smaps_rollup").read_text()
            truth["huge"] = next(int(line.split()[1]) * 1024 for line in rollup.splitlines() if "AnonHuge" in line)
            if truth["huge"] < 64 * MIB:
                raise Skipped(f"the kernel gave {truth['huge']} bytes of huge pages")
        if pattern == "sock":
            truth["sock"] = sock_bytes(inside) or 0
            if truth["sock"] < 64 * MIB:
                raise Skipped(f"the kernel counts {truth['sock']} bytes of socket buffers in the group")
        document, text = verdict(process)
        check(document["code"] in codes, f"{document['code']}, wanted {' or '.join(codes)}\n{text}")
        wanted = truth[figure]
        check(any(abs(number - wanted) <= wanted * tolerance for number in numbers(document["evidence"])),
              f"no evidence of {figure}={wanted}\n{text}")


def main():
    outcomes = {"ok": 0, "FAIL": 0, "skip": 0}
    for pattern in sys.argv[1:] or PATTERNS:
        outcome, why = "ok", ""
        try:
            holds(pattern)
        except Skipped as error:
            outcome, why = "skip", f": {error}"
        except Failed as error:
            outcome, why = "FAIL", f": {error}"
        outcomes[outcome] += 1
        print(f"{outcome:5} {pattern}{why}", flush=True)
    print(f"{outcomes['ok']} passed, {outcomes['FAIL']} failed, {outcomes['skip']} skipped")
    return 1 if outcomes["FAIL"] else 0 if outcomes["ok"] else 77


sys.exit(main())
