#!/usr/bin/python3
"""ebb doctor on living programs that are a case (live.c): the verdict's code, and its number against what the program knows.

`run.py PATTERN...` starts the program with each pattern; `killed` kills a doctor that holds its process. Exit code 77: this machine cannot make the pattern.
"""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

EBB = str(pathlib.Path(os.environ["EBB_BIN_DIR"]) / "ebb")
PROGRAMS = pathlib.Path(os.environ["EBB_LIVE_PROGRAMS"])
MIB = 1 << 20
SIZE = 128  # MiB
V1 = pathlib.Path("/sys/fs/cgroup/memory")
V2 = pathlib.Path("/sys/fs/cgroup")
# Codes that are right, and facts of the evidence: which of the program's figures each is, how far it may be off. A block of 512
# bytes is a chunk of 528.
HEAP = 0.05
PATTERNS = {
    "retained": (["ALLOC_RETAINED"], [("allocator.trimmable_bytes", "trimmed", 0.03)]),
    "threaded": (["ALLOC_RETAINED"], [("allocator.trimmable_bytes", "trimmed", 0.03)]),
    "busy": (["ALLOC_RETAINED"], [("allocator.trimmable_bytes", "trimmed", 0.1)]),
    "fragmented": (["ALLOC_FRAGMENTED"], [("allocator.live_bytes", "live", HEAP), ("allocator.pinned_bytes", "freed", HEAP)]),
    "worn": (["ALLOC_FRAGMENTED"], [("allocator.live_bytes", "live", HEAP)]),
    "healthy": (["HEALTHY"], [("allocator.live_bytes", "live", HEAP)]),
    "second_allocator": (["SECOND_ALLOCATOR"], [("process.anon_bytes", "second", HEAP)]),
    "lazyfree": (["LAZYFREE"], [("process.lazyfree_bytes", "lazyfree", 0.02)]),
    "file_mmap": (["FILE_MMAP"], [("mappings.file_data_bytes", "data", 0.05)]),
    "shmem": (["SHMEM"], [(None, "shmem", 0.02)]),
    "stacks": (["STACKS"], [("mappings.stacks_bytes", "stacks", 0.05)]),
    "thp": (["THP"], [("process.anon_huge_bytes", "huge", 0.02)]),
    "page_cache": (["PAGE_CACHE"], [(None, "cache", 0.05)]),
    "cow_fork": (["COW_FORK"], [("process.copied_bytes", "copied", 0.02)]),
    "sock": (["SOCK"], [("cgroup.sock_bytes", "sock", 0.05)]),
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


def verdict(process, *flags):
    done = subprocess.run([EBB, "doctor", "--json", *flags, str(process.pid)], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=20)
    check(done.returncode in (0, 4), f"exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout), done.stdout


def trimmed(process):
    """By how much the process's RSS falls when it calls malloc_trim(0)."""
    process.send_signal(signal.SIGUSR1)
    return int(process.stdout.readline().split()[1])


def state(process):
    return pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def killed():
    """A doctor that is killed while it holds the process: the process goes on."""
    with tempfile.TemporaryDirectory(prefix="ebb-live-", dir=PROGRAMS) as directory, \
            living("fragmented", SIZE, directory) as (process, _):
        for _ in range(20):
            doctor = subprocess.Popen([EBB, "doctor", "--stop", str(process.pid)], stdout=subprocess.DEVNULL)
            while state(process) not in "tT" and doctor.poll() is None:
                pass
            held = state(process) in "tT"
            doctor.kill()
            doctor.wait()
            if held:
                break
        else:
            raise Skipped("the process was never seen to be held")
        # It says so itself: it still does what a signal asks for.
        check(trimmed(process) >= 0 and state(process) not in "tT", f"its state is {state(process)}")


def told(document, fact, wanted, tolerance):
    """Whether the evidence has that fact, or any where none is named, with that figure."""
    return any(abs(row.get("bytes", 0) - wanted) <= wanted * tolerance for row in document["evidence"]
               if fact in (None, row["fact"]))


def holds(pattern):
    codes, figures = PATTERNS[pattern]
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
        if "trimmed" in [figure for _, figure, _ in figures]:
            stopped, _ = verdict(process, "--stop")
            check(state(process) not in "tT", f"after --stop its state is {state(process)}")
            truth["trimmed"] = trimmed(process)
            check(truth["trimmed"] > SIZE * MIB / 2, f"the trim returned {truth['trimmed']} bytes: no such pattern")
            for fact, figure, tolerance in figures:
                check(told(stopped, fact, truth[figure], tolerance),
                      f"with --stop no evidence of {fact}={truth[figure]}\n{json.dumps(stopped, indent=1)}")
        for fact, figure, tolerance in figures:
            check(told(document, fact, truth[figure], tolerance), f"no evidence of {fact or figure}={truth[figure]}\n{text}")


def main():
    outcomes = {"ok": 0, "FAIL": 0, "skip": 0}
    for pattern in sys.argv[1:] or [*PATTERNS, "killed"]:
        outcome, why = "ok", ""
        try:
            killed() if pattern == "killed" else holds(pattern)
        except Skipped as error:
            outcome, why = "skip", f": {error}"
        except Failed as error:
            outcome, why = "FAIL", f": {error}"
        outcomes[outcome] += 1
        print(f"{outcome:5} {pattern}{why}", flush=True)
    print(f"{outcomes['ok']} passed, {outcomes['FAIL']} failed, {outcomes['skip']} skipped")
    return 1 if outcomes["FAIL"] else 0 if outcomes["ok"] else 77


sys.exit(main())
