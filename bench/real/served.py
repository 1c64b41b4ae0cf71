"""redis-server under load: a fresh server for each run; the CPU time is the server's alone, by its CPU clock.

redis-benchmark draws its keys at random and has no seed; it is asked so often that every key of its range is
written, so the data at the end is the same, and the server's own digest of it is the output.
Debian's redis links libjemalloc: the preload wins all the same, and under `glibc` libc itself is preloaded.
"""

import contextlib
import os
import socket
import subprocess
import time

from . import once
from .workloads import Job, program

# name, requests, keys, arguments of redis-benchmark. The requests are many times the keys.
PHASES = [
    ("set", 320000, 10000, ["-t", "set", "-d", "120"]),
    ("get", 320000, 10000, ["-t", "get"]),
    ("set-large", 64000, 2000, ["-t", "set", "-d", "3000"]),
    ("lpush", 200000, 1, ["-t", "lpush", "-d", "40"]),
    ("lrange", 8000, 1, ["-t", "lrange_100", "-d", "40"]),
    ("hset", 200000, 5000, ["-t", "hset", "-d", "60"]),
]
PIPELINE = 16
CLIENTS = 20


def cpu_seconds(pid):
    """The kernel's CPU clock of another process: user and system, all threads, in nanoseconds."""
    return time.clock_gettime((~pid << 3) | 2)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def command(port, *words):
    done = subprocess.run(["/usr/bin/redis-cli", "-p", str(port), *words], capture_output=True, text=True, check=False, timeout=30)
    if done.returncode != 0:
        raise once.RunFailed(f"redis-cli {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout.strip()


def wait_ready(process, port):
    for _ in range(600):
        if process.poll() is not None:
            raise once.RunFailed(f"redis-server ended with status {process.returncode} before it was ready")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1) as s:
            s.sendall(b"PING\r\n")
            if s.recv(16).startswith(b"+PONG"):
                return
        time.sleep(0.05)
    raise once.RunFailed("redis-server was not ready after 30 s")


def status_kib(pid, key):
    with open(f"/proc/{pid}/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(key + ":"))


def prepare():
    """Only what the check of the preload needs; run() starts the server itself."""
    program("/usr/bin/redis-benchmark", "redis-tools")
    return Job(program("/usr/bin/redis-server", "redis-server"), [], ["--version"])


@contextlib.contextmanager
def server(peer, directory):
    port = free_port()
    arguments = ["/usr/bin/redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", str(directory), "--save", "",
                 "--appendonly", "no", "--enable-debug-command", "yes", "--activedefrag", "no", "--daemonize", "no"]
    env = dict(once.environment(peer, {}), LD_PRELOAD=once.preload_of(peer))
    with open(directory / "redis.log", "wb") as log:
        process = subprocess.Popen(arguments, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        wait_ready(process, port)
        with open(f"/proc/{process.pid}/maps") as maps:
            if not any(line.rstrip().endswith(os.path.realpath(peer.expect)) for line in maps):
                raise once.RunFailed(f"redis-server under {peer.name}: {peer.expect} is not mapped")
        yield process.pid, port
    finally:
        process.kill()
        process.wait()


def phase(port, pid, scale, requests, keys, arguments):
    """Microseconds of the server's CPU per request."""
    requests = max(PIPELINE * CLIENTS, int(requests * scale) // PIPELINE * PIPELINE)
    keys = max(1, int(keys * scale))
    before = cpu_seconds(pid)
    done = subprocess.run(
        ["/usr/bin/redis-benchmark", "-p", str(port), "-n", str(requests), "-c", str(CLIENTS), "-P", str(PIPELINE), "-q",
         *(["-r", str(keys)] if keys > 1 else []), *arguments],
        capture_output=True, text=True, check=False, timeout=100)
    spent = cpu_seconds(pid) - before
    if done.returncode != 0 or "requests per second" not in done.stdout or "rror" in done.stdout + done.stderr:
        raise once.RunFailed(f"redis-benchmark {' '.join(arguments)}: {done.stdout[-200:]} {done.stderr[-200:]}")
    return spent * 1e6 / requests, spent


def run(peer, directory, scale):
    result = {"parts": {}, "cpu_s": 0.0}
    with server(peer, directory) as (pid, port):
        start = time.monotonic()
        for name, requests, keys, arguments in PHASES:
            result["parts"][name], spent = phase(port, pid, scale, requests, keys, arguments)
            result["cpu_s"] += spent
        result["wall_s"] = time.monotonic() - start
        result["peak_mib"] = status_kib(pid, "VmHWM") / 1024
        result["output"] = command(port, "DEBUG", "DIGEST") + " " + command(port, "DBSIZE")
    return result
