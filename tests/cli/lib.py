"""What the tests of the command share: starting it, comparing what it said, free ports.

A case is a function whose name begins with the group's: `def ready_tcp(): ...` belongs to `ready`.
It fails by an exception; run.py prints each and counts.
"""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile

BIN = pathlib.Path(os.environ["EBB_BIN_DIR"])
LIB = pathlib.Path(os.environ["EBB_LIB_DIR"])
SOURCE = pathlib.Path(os.environ["EBB_SOURCE_DIR"])
PROGRAMS = pathlib.Path(os.environ["EBB_CLI_PROGRAMS"])
EBB = str(BIN / "ebb")
MIB = 1 << 20
LIMIT = 60  # seconds a command may take before the test gives up on it


class Failed(Exception):
    pass


def check(condition, message):
    if not condition:
        raise Failed(message)


def program(name):
    return str(PROGRAMS / name)


def environment(**more):
    env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "LD_PRELOAD", "EBB_CONF")}
    env["LC_ALL"] = "C"
    env.update(more)
    return env


class Outcome:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __str__(self):
        return f"exit {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}\n---"


def ebb(*arguments, env=None, stdin=subprocess.DEVNULL, limit=LIMIT):
    """Runs ebb to its end."""
    process = subprocess.run([EBB, *arguments], stdin=stdin, capture_output=True, timeout=limit,
                             env=env or environment())
    return Outcome(process.returncode, process.stdout.decode(errors="replace"),
                   process.stderr.decode(errors="replace"))


def start(*arguments, env=None):
    """Starts ebb; the caller ends it."""
    return subprocess.Popen([EBB, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, env=env or environment())


def finish(process, limit=LIMIT):
    try:
        out, err = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise Failed(f"still running after {limit} s")
    return Outcome(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"))


def expect(outcome, code=None, out=None, err=None, err_lines=None):
    """out and err are regular expressions that must be found."""
    if code is not None:
        check(outcome.code == code, f"wanted exit code {code}\n{outcome}")
    if out is not None:
        check(re.search(out, outcome.out, re.M), f"stdout does not match {out!r}\n{outcome}")
    if err is not None:
        check(re.search(err, outcome.err, re.M), f"stderr does not match {err!r}\n{outcome}")
    if err_lines is not None:
        lines = outcome.err.splitlines()
        check(len(lines) == err_lines, f"wanted {err_lines} lines on stderr\n{outcome}")
    return outcome


def document(outcome):
    """stdout as one JSON document."""
    try:
        return json.loads(outcome.out)
    except ValueError as error:
        raise Failed(f"stdout is no JSON document: {error}\n{outcome}")


def run_json(*arguments, code=0, **more):
    outcome = ebb("run", "--json", *arguments, **more)
    expect(outcome, code=code)
    return document(outcome)


def near(value, wanted, slack, what):
    check(value is not None and abs(value - wanted) <= slack, f"{what}: {value}, wanted {wanted} +- {slack}")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def temporary():
    return tempfile.TemporaryDirectory(prefix="ebb-cli-")


def signal_name(code):
    return signal.Signals(code - 128).name if code > 128 else code
