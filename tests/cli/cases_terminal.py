"""terminal: how it looks and what Ctrl-C does, in a real terminal (tmux)."""

import os
import pathlib
import re
import subprocess
import time

from lib import EBB, Failed, check, environment, free_port, program


class Terminal:
    """A shell in a detached tmux of its own, 80 columns wide."""

    def __init__(self, **env):
        self.socket = f"ebb-test-{os.getpid()}-{time.monotonic_ns()}"
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "50", "env", "PS1=$ ", "bash", "--norc",
                  env=environment(TERM="xterm-256color", **env))

    def tmux(self, *arguments, env=None):
        return subprocess.run(["tmux", "-L", self.socket, *arguments], capture_output=True, text=True, timeout=30,
                              check=True, env=env).stdout

    def type(self, text, *keys):
        self.tmux("send-keys", "-l", text)
        self.tmux("send-keys", *keys)

    def screen(self, *flags):
        return self.tmux("capture-pane", "-p", *flags)

    def wait(self, pattern, seconds=20):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            text = self.screen()
            if re.search(pattern, text, re.M):
                return text
            time.sleep(0.1)
        raise Failed(f"{pattern!r} never came\n{self.screen()}")

    def __enter__(self):
        self.wait(r"^\$")
        return self

    def __exit__(self, *_):
        subprocess.run(["tmux", "-L", self.socket, "kill-server"], capture_output=True)


def terminal_interrupt_prints_the_table():
    port = free_port()
    with Terminal() as terminal:
        terminal.type(f"{EBB} run --allocator glibc --ready-tcp 127.0.0.1:{port} -- {program('server')} {port}; "
                      'echo "code $?"', "Enter")
        terminal.wait(r"^ebb: ready after")
        time.sleep(2.5)
        terminal.tmux("send-keys", "C-c")
        text = terminal.wait(r"^code \d+")
        check("code 130" in text, text)
        check(re.search(r"^  boot +\d", text, re.M) and re.search(r"^  resting 1 s +\d", text, re.M), text)
        check(text.count("killed by SIGINT") == 1, text)


def terminal_interrupt_of_a_run_with_load():
    port = free_port()
    with Terminal() as terminal:
        terminal.type(f"{EBB} run --allocator glibc --ready-tcp 127.0.0.1:{port} --load 'sleep 60' -- "
                      f"{program('server')} {port}; " 'echo "code $?"', "Enter")
        terminal.wait(r"^ebb: load: sleep 60")
        terminal.tmux("send-keys", "C-c")
        text = terminal.wait(r"^code \d+")
        check("code 130" in text and "ebb: interrupted (SIGINT)" in text, text)


def terminal_interactive_command_keeps_ctrl_c():
    """A command that handles Ctrl-C itself is not taken down with it."""
    with Terminal() as terminal:
        terminal.type(f"{EBB} run --allocator glibc --grace 1s -- {program('signals')}; " 'echo "code $?"', "Enter")
        terminal.wait(r"^up$")
        terminal.tmux("send-keys", "C-c")
        terminal.wait(r"INT$")
        time.sleep(2)
        check("code" not in terminal.screen().split("signals")[-1].replace('echo "code', ""), terminal.screen())
        terminal.tmux("send-keys", "C-\\")
        terminal.wait(r"QUIT$")
        # Each came once: from the terminal, and not from ebb as well.
        check(len(re.findall(r"INT$", terminal.screen(), re.M)) == 1, terminal.screen())


def terminal_reads_the_keyboard():
    with Terminal() as terminal:
        terminal.type(f"{EBB} run --allocator glibc -- sh -c 'echo up; exec cat'", "Enter")
        terminal.wait(r"^up$")
        terminal.type("hello there", "Enter", "C-d")
        text = terminal.wait(r"^  ended +after .*: exit 0")
        check(text.count("hello there") == 2, text)


def terminal_colours():
    """Bold and dim in a terminal, none with NO_COLOR or a dumb one."""
    for env, coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
        with Terminal(**env) as terminal:
            terminal.type(f"{EBB} run --allocator glibc -- sleep 1", "Enter")
            terminal.wait(r"^  ended +after .*: exit 0")
            check(("\033[1m" in terminal.screen("-e")) == coloured, terminal.screen("-e"))
    with Terminal() as terminal:
        terminal.type(f"TERM=dumb {EBB} run --allocator glibc -- sleep 1", "Enter")
        terminal.wait(r"^  ended +after .*: exit 0")
        check("\033[1m" not in terminal.screen("-e"), terminal.screen("-e"))


def terminal_no_line_is_broken():
    with Terminal() as terminal:
        terminal.type(f"{EBB} run -- sleep 1", "Enter")
        text = terminal.wait(r"^  ended +after .*: exit 0")
        table = text[text.index("RSS"):]
        check(all(line == "" or line.startswith(("  ", "$", "RSS")) for line in table.splitlines()), text)


def terminal_hangup():
    """The terminal is closed: the command does not stay behind."""
    terminal = Terminal()
    with terminal:
        terminal.type(f"{EBB} run --allocator glibc --grace 1s -- bash -c \"trap '' HUP; echo pid $$; sleep 60\"", "Enter")
        pid = re.search(r"^pid (\d+)", terminal.wait(r"^pid \d+"), re.M).group(1)
    end = time.monotonic() + 15
    # It ignores the hangup, so ebb's SIGTERM has to end it.
    children = pathlib.Path(f"/proc/{pid}")
    while children.exists() and time.monotonic() < end:
        time.sleep(0.1)
    check(not children.exists(), f"process {pid} is still there")
