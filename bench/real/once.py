"""One run of a program under one peer: times from wait4, a digest of what it put out.

bench/launch starts it, so that nothing of this process shows in the figures. A run that fails or puts out
something else than the others is an error, not a result.
"""

import hashlib
import json
import os
import subprocess


class RunFailed(Exception):
    """A program did not come out right: a result without it would be no result."""


def environment(peer, extra):
    """Nothing of the caller's environment reaches the program or the allocator."""
    return {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/", **peer.env, **extra}


def preload_of(peer):
    """libc's malloc is preloaded as well: a program that links another allocator (redis) is then served by libc."""
    return peer.library or peer.expect


def served_by(peer, job, directory):
    """Which libraries answer malloc, free and realloc in the program under this peer, as the loader binds them."""
    trace = directory / "bindings"
    for old in directory.glob("bindings*"):
        old.unlink()
    env = environment(peer, job.env)
    env.update(LD_PRELOAD=preload_of(peer), LD_DEBUG="bindings", LD_DEBUG_OUTPUT=str(trace), LD_BIND_NOW="1")
    subprocess.run([job.program, *job.probe], cwd=directory, env=env, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60, check=False)
    servers = set()
    for file in directory.glob("bindings*"):
        for line in file.read_text(errors="replace").splitlines():
            if "binding file" in line and any(f"`{name}'" in line for name in ("malloc", "free", "realloc")):
                servers.add(os.path.realpath(line.split(" to ")[1].split(" [")[0]))
        file.unlink()
    return servers


def check_served(peer, job, directory):
    # A program that is not position-independent shows as the place of functions whose address it takes: those are
    # its own jump table, which leads on to where its calls are bound.
    servers = served_by(peer, job, directory) - {os.path.realpath(job.program)}
    if servers != {os.path.realpath(peer.expect)}:
        raise RunFailed(f"{job.program} under {peer.name}: malloc is answered by {', '.join(servers) or 'nobody'}")


def digest_of(stdout, directory, pattern):
    sha = hashlib.sha256(stdout)
    files = sorted(directory.glob(pattern)) if pattern else []
    for file in files:
        sha.update(file.name.encode() + file.read_bytes())
    if not stdout and not any(file.stat().st_size for file in files):
        raise RunFailed("it put out nothing")
    return sha.hexdigest()[:16]


def run(launch, peer, job, directory, seconds=110):
    """One fresh process; what it wrote is removed before, and read after."""
    for old in directory.glob(job.outputs) if job.outputs else []:
        old.unlink()
    preload = ["-p", peer.library] if peer.library else []
    command = [launch, "-t", str(seconds), *preload, "--", job.program, *job.arguments]
    stdin = open(directory / job.stdin, "rb") if job.stdin else subprocess.DEVNULL
    try:
        done = subprocess.run(command, cwd=directory, env=environment(peer, job.env), stdin=stdin, capture_output=True, check=False)
    finally:
        if job.stdin:
            stdin.close()
    head, _, last = done.stdout.rstrip(b"\n").rpartition(b"\n")
    if done.returncode != 0 or not last.startswith(b'{"launch"'):
        raise RunFailed(f"{job.program} under {peer.name}: status {done.returncode}: {done.stderr.decode(errors='replace')[-500:]}")
    told = json.loads(last)
    return {
        "cpu_s": (told["user_us"] + told["sys_us"]) / 1e6,
        "sys_s": told["sys_us"] / 1e6,
        "wall_s": told["wall_ns"] / 1e9,
        "peak_mib": told["maxrss_kib"] / 1024,
        "faults": told["minflt"],
        "output": digest_of(head, directory, job.outputs),
    }
