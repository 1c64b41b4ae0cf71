"""Runs programs under peers, one process each, and hands back what they and the launcher said."""

import json
import os
import subprocess
import threading


class RunFailed(Exception):
    """A program did not come out right: a result without it would be no result."""


def command_of(bench_dir, peer, program, options, seconds):
    command = [os.path.join(bench_dir, "launch"), "-t", str(seconds), "-e", f"BENCH_EXPECT={peer.expect}"]
    if peer.library:
        command += ["-p", peer.library]
    for key, value in peer.env.items():
        command += ["-e", f"{key}={value}"]
    path = os.path.join(bench_dir, program.kind, program.command[0])
    return command + ["--", path, *program.command[1:], *options]


def clean_environment():
    """Nothing of the caller's environment reaches an allocator."""
    return {"PATH": "/usr/bin:/bin", "LANG": "C"}


def run(bench_dir, peer, program, options, seconds=120, on_asleep=None):
    """One run. on_asleep is called when a resting program says that its threads sleep."""
    process = subprocess.Popen(
        command_of(bench_dir, peer, program, options, seconds),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=clean_environment(),
        text=True,
    )
    lines = []
    for line in process.stdout:
        said = json.loads(line)
        if said.get("phase") == "asleep" and on_asleep:
            on_asleep()
        lines.append(said)
    errors = process.stderr.read().strip()
    process.stderr.close()
    process.stdout.close()
    if process.wait() != 0:
        raise RunFailed(f"{program.name} under {peer.name}: status {process.returncode}: {errors}")
    return assemble(lines, program, peer)


def assemble(lines, program, peer):
    launch = next((line for line in lines if line.get("launch")), None)
    own = next((line for line in lines if "name" in line), None)
    if launch is None or own is None:
        raise RunFailed(f"{program.name} under {peer.name}: it printed no result")
    result = dict(own)
    result["cpu_s"] = (launch["user_us"] + launch["sys_us"]) / 1e6
    result["sys_s"] = launch["sys_us"] / 1e6
    result["wall_s"] = launch["wall_ns"] / 1e9
    result["faults"] = launch["minflt"]
    result["major_faults"] = launch["majflt"]
    return result


class RestingPool:
    """
    Resting programs: the work of one at a time, so that they do not disturb each other, but as many
    asleep as the memory allows; a run is mostly sleep.
    """

    def __init__(self, width):
        self.turn = threading.Lock()
        self.room = threading.Semaphore(width)
        self.threads = []
        self.failures = []

    def start(self, job):
        """job(asleep) runs one program and calls asleep() when its threads sleep."""
        self.room.acquire()
        self.turn.acquire()
        thread = threading.Thread(target=self._run, args=(job,))
        self.threads.append(thread)
        thread.start()

    def _run(self, job):
        free = [self.turn.release]

        def asleep():
            if free:
                free.pop()()

        try:
            job(asleep)
        except (RunFailed, ValueError, OSError) as error:
            self.failures.append(error)
        finally:
            asleep()
            self.room.release()

    def finish(self):
        for thread in self.threads:
            thread.join()
        if self.failures:
            raise RunFailed("; ".join(str(failure) for failure in self.failures))
