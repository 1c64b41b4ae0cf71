"""One fresh server under one allocator, measured by `ebb run`."""

import json
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile

from harness import servers


class Failed(Exception):
    """A run that gave no figures."""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Runner:
    def __init__(self, build, keep, rest_seconds):
        self.build = pathlib.Path(build).resolve()
        self.keep = pathlib.Path(keep).resolve()
        self.rest_seconds = rest_seconds
        self.cache = self.keep / "cache"
        self.cache.mkdir(parents=True, exist_ok=True)

    def without_jemalloc(self):
        """A directory with an empty libjemalloc.so.2."""
        directory = self.cache / "no-jemalloc"
        library = directory / "libjemalloc.so.2"
        if not library.exists():
            directory.mkdir(exist_ok=True)
            source = str(servers.HERE / "apps/no-jemalloc.c")
            made = ["-shared", "-fPIC", "-O2", "-Wl,-soname,libjemalloc.so.2", "-o", str(library)]
            servers.run_quietly(["cc", *made, source])
        return directory

    def measure(self, server, variant, number):
        """The result as `ebb run --save` wrote it, and where it lies."""
        stem = f"{server.name}-{number:02d}-{variant.name}"
        result = self.keep / f"{stem}.json"
        log = self.keep / f"{stem}.log"
        result.unlink(missing_ok=True)
        # Not below our own directory: servers that drop root's rights must reach it.
        scratch = pathlib.Path(tempfile.mkdtemp(prefix=f"ebb-{server.name}-", dir=server.scratch_parent))
        try:
            scratch.chmod(0o755)
            server.prepare(scratch, self.cache)
            self.run(server, variant, scratch, log)
            shutil.copyfile(scratch / "result.json", result)
        except (OSError, servers.CannotRun, Failed) as error:
            raise Failed(f"{server.name} under {variant.name}: {error}; its log is {log}") from error
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        with open(result, encoding="utf-8") as file:
            found = json.load(file)
        if found["outcome"] != "complete":
            raise Failed(f"{server.name} under {variant.name}: {found['outcome']}; its log is {log}")
        return found, result

    def run(self, server, variant, scratch, log):
        port = free_port()
        command = [
            *(servers.drop_rights(server.user) if server.user else []),
            str(self.build / "bin/ebb"),
            *("run", *variant.options(), "--label", variant.name, "--rest", f"{self.rest_seconds}s"),
            *("--save", str(scratch / "result.json"), "--grace", server.grace),
            *(*server.ready(port), "--ready-timeout", server.ready_timeout),
            *("--load", server.load(port, self.rest_seconds), "--"),
            *server.command(port, scratch),
        ]
        # Nothing from the shell tunes one variant or all.
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(scratch), "LANG": "C.UTF-8"}
        environment |= server.environment(self.cache) | variant.environment
        if server.links_jemalloc and variant.allocator != "jemalloc":
            environment["LD_LIBRARY_PATH"] = str(self.without_jemalloc())
        if server.user:
            shutil.chown(scratch, server.user)
        with open(log, "wb") as output:
            child = subprocess.Popen(
                command, cwd=scratch, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
            try:
                status = child.wait()
            except BaseException:
                # It ends the server and the load that it started when it is told to end.
                child.terminate()
                child.wait()
                raise
        if status != 0 and not (server.aborts_at_end and status == 128 + signal.SIGABRT):
            raise Failed(f"ebb run ended with {status}")
