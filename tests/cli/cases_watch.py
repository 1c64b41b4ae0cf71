"""watch: who holds the memory of a process, as a table, as data, and on a screen that is drawn, resized and left."""

import csv
import fcntl
import io
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
import http.server
import urllib.request

from lib import EBB, LIB, Failed, check, ebb, environment, expect, finish, free_port, start


class Process:
    """A process with some memory that sleeps, under Ebb or not."""

    def __init__(self, on_ebb=False):
        env = environment(**({"LD_PRELOAD": str(LIB / "libebb.so"), "EBB_CONF": "budget:200M"} if on_ebb else {}))
        code = ("import sys,time\nx=[bytes(2000) for i in range(8000)]\ny=[bytes(2000) for i in range(4000)]\ndel y\n"
                "time.sleep(1.5)\nprint('up',flush=True)\ntime.sleep(60)")
        self.process = subprocess.Popen([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE)
        self.process.stdout.readline()
        self.pid = str(self.process.pid)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def watch_usage():
    for arguments, message in (
        ([], r"no process: ebb watch PID"),
        (["self"], r"'self': write the number of a process"),
        (["1", "2"], r"one process at a time: what is 2\?"),
        (["1", "--csv", "--json"], r"exclude each other"),
        (["1", "--interval", "1ms"], r"100ms is the shortest"),
        (["1", "--count", "0"], r"--count '0': write how many times"),
        (["1", "--once", "--ledger", "redis"], r"--ledger 'redis': write NAME="),
        (["1", "--once", "--ledger", "a=redis:1"], r"write redis, redis:HOST:PORT"),
    ):
        expect(ebb("watch", *arguments), code=2, out=r"\A\Z", err=message, err_lines=1)
    expect(ebb("watch", str(os.getpid()), "--prometheus", "nowhere"), code=2, err=r"write PORT or HOST:PORT")


def watch_nobody():
    process = subprocess.Popen(["true"])
    process.wait()
    expect(ebb("watch", str(process.pid), "--once"), code=3, out=r"\A\Z", err=r"there is none of that number", err_lines=1)


def watch_without_rights():
    """The memory of root's process, looked at by nobody."""
    with Process() as target:
        def drop():
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        # The tree of the tests may not be readable for others: the binary is handed over open.
        fd = os.open(EBB, os.O_RDONLY)
        process = subprocess.run([f"/proc/self/fd/{fd}", "watch", target.pid, "--once"], preexec_fn=drop, pass_fds=[fd],
                                 capture_output=True, text=True, env=environment(), timeout=30)
        os.close(fd)
        check(process.returncode == 3 and "may not be looked at: use sudo" in process.stderr,
              f"{process.returncode} {process.stderr}")


def table_sums(document):
    accounts = document["accounts"]
    total = sum(row["bytes"] for row in accounts["rows"])
    check(total == accounts["rss_bytes"] == document["rss_bytes"], f"rows make {total} of {document['rss_bytes']}")
    left = [row["bytes"] for row in accounts["rows"] if row["section"] == "not_accounted"]
    check(len(left) == 1 and left[0] >= -accounts["bound_bytes"], f"not accounted: {left}, {accounts['bound_bytes']}")
    return {section: sum(r["bytes"] for r in accounts["rows"] if r["section"] == section)
            for section in {r["section"] for r in accounts["rows"]}}


def watch_table_of_another_allocator():
    with Process() as target:
        text = expect(ebb("watch", target.pid, "--once"), code=0, err_lines=0,
                      out=r"^  RSS +\d+\.\d 100\.0$").out
        check("live heap" not in text and "binary and libraries" in text and "not accounted" in text, text)
        document = json.loads(ebb("watch", target.pid, "--once", "--json").out)
        sections = table_sums(document)
        check("live" not in sections and document["ebb"] is None and document["live_bytes"] is None, document)
        check(sections["other"] > 16000000, sections)


def watch_table_under_ebb():
    with Process(on_ebb=True) as target:
        text = expect(ebb("watch", target.pid, "--once"), code=0, err_lines=0,
                      out=r"under ebb: RSS \d+\.\d MiB of a budget of 200\.0 MiB").out
        check("live heap" in text and "held by libebb" in text and "not in RSS" in text, text)
        document = json.loads(ebb("watch", target.pid, "--once", "--json").out)
        sections = table_sums(document)
        check(sections["live"] > 8000 * 2000 and document["ebb"]["budget_bytes"] == 200 << 20, sections)
        check(document["schema"] == "ebb.watch/1" and document["threads"] >= 2, document)


def watch_csv_and_ledgers():
    with Process() as target:
        class Answer(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b'{"memory": {"used": "12345678"}}')

            def log_message(self, *_):
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Answer)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/x#memory.used"
        outcome = ebb("watch", target.pid, "--csv", "--count", "3", "--interval", "100ms", "--ledger", "a=echo 77",
                      "--ledger", f"b={url}", "--ledger", f"c=redis:127.0.0.1:{free_port()}")
        server.shutdown()
        server.server_close()
        expect(outcome, code=0, err_lines=0)
        rows = list(csv.DictReader(io.StringIO(outcome.out)))
        check(len(rows) == 3, outcome.out)
        check(all(int(row["rss_bytes"]) > 0 and row["ledger_a_bytes"] == "77" for row in rows), outcome.out)
        check(rows[-1]["ledger_b_bytes"] == "12345678" and rows[-1]["ledger_c_bytes"] == "", outcome.out)


def watch_a_process_that_ends():
    with Process() as target:
        process = start("watch", target.pid, "--json", "--interval", "100ms")
        process.stdout.readline()
        target.process.kill()
        target.process.wait()
        outcome = finish(process)
        expect(outcome, code=0, err=rf"^ebb: process {target.pid} \(python.*\) has ended$", err_lines=1)
        check(all(json.loads(line)["pid"] == int(target.pid) for line in outcome.out.splitlines()), outcome.out)


def watch_prometheus():
    with Process(on_ebb=True) as target:
        process = start("watch", target.pid, "--prometheus", "0", "--interval", "200ms")
        try:
            line = process.stderr.readline().decode()
            where = re.fullmatch(r"ebb: serving (http://127\.0\.0\.1:\d+/metrics)\n", line)
            check(where, line)
            for _ in range(100):
                text = urllib.request.urlopen(where[1], timeout=10).read().decode()
                if text:
                    break
            check(re.search(r"^# TYPE ebb_process_rss_bytes gauge$", text, re.M), text)
            check(re.search(rf'^ebb_account_bytes{{pid="{target.pid}",command="[^"]+",section="held",account="free page '
                            r'runs"} \d+$', text, re.M), text)
            try:
                urllib.request.urlopen(where[1].replace("metrics", "other"), timeout=10)
                raise Failed("404 was wanted")
            except urllib.error.HTTPError as error:
                check(error.code == 404, error)
        finally:
            process.send_signal(signal.SIGTERM)
            finish(process)
        check(process.returncode == 0, process.returncode)


class Screen:
    """ebb watch in a terminal of its own (pty)."""

    def __init__(self, *arguments, rows=24, columns=80, **env):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(EBB, [EBB, "watch", *arguments], environment(TERM="xterm-256color", **env))
        self.text = ""
        self.resize(rows, columns)

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def wait(self, pattern, seconds=20):
        """Until it was written; what came is thrown away."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if re.search(pattern, self.text):
                self.text = ""
                return
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    self.text += os.read(self.fd, 65536).decode(errors="replace")
                except OSError:
                    break
        raise Failed(f"{pattern!r} never came:\n{self.text[-3000:]!r}")

    def key(self, key):
        os.write(self.fd, key.encode())

    def end(self, seconds=10):
        """Its exit code."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if select.select([self.fd], [], [], 0.05)[0]:
                try:
                    self.text += os.read(self.fd, 65536).decode(errors="replace")
                except OSError:
                    pass
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                os.close(self.fd)
                return os.waitstatus_to_exitcode(status)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        raise Failed("it did not end")


def watch_screen_draws_resizes_and_quits():
    with Process(on_ebb=True) as target:
        screen = Screen(target.pid, "--interval", "200ms")
        screen.wait(r"ebb watch.*RSS.*binary and libraries.*quit")
        screen.resize(50, 160)
        screen.wait(r"held by kind")
        screen.key("h")
        screen.wait(r"Keys")
        screen.key("h")
        screen.wait(r"binary and libraries")
        screen.key("s")
        screen.wait(r"descriptors and page map")  # too little for the table, a row of its own by size
        screen.key("q")
        check(screen.end() == 0, screen.text)


def watch_screen_of_a_process_that_ends():
    with Process() as target:
        screen = Screen(target.pid, "--interval", "200ms", NO_COLOR="1")
        screen.wait(r"binary and libraries")
        target.process.kill()
        target.process.wait()
        check(screen.end() == 0 and "has ended" in screen.text, screen.text[-500:])
        check("\033[3" not in screen.text, "colours in spite of NO_COLOR")


def watch_dumb_terminal():
    with Process() as target:
        screen = Screen(target.pid, "--interval", "100ms", "--count", "2", LC_ALL="C")
        screen.end()
        dumb = subprocess.run([EBB, "watch", target.pid, "--count", "2", "--interval", "100ms"], capture_output=True,
                              text=True, env=environment(TERM="dumb"), timeout=30)
        check(dumb.returncode == 0 and dumb.stdout.count("  RSS ") == 2 and "\033" not in dumb.stdout, dumb.stdout)
