"""completion: bash, zsh and fish really complete with what ebb made for them. screen: --help fits one."""

import os
import pty
import re
import select
import shutil
import subprocess
import time

from lib import EBB, SOURCE, check, ebb, expect, temporary

BASH = r"""
set -u
source "$1"
COMP_WORDS=(); shift
for word; do COMP_WORDS+=("$word"); done
COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
complete -p ebb | grep -q -- '-F _ebb' || exit 9
_ebb
printf '%s\n' "${COMPREPLY[@]}"
"""


def verbs():
    text = expect(ebb("--help"), code=0).out
    return [name for name in re.findall(r"^  ([a-z]+)  +\w", text, re.M) if name != "help"]


def completion_usage():
    for wrong in [], ["tcsh"]:
        expect(ebb("completion", *wrong), code=2, err=r"^ebb: ebb completion bash, zsh or fish$", err_lines=1)


def in_bash(*words):
    outcome = subprocess.run(["bash", "--norc", "-c", BASH, "bash", SOURCE / "packaging/completions/ebb.bash", *words],
                             capture_output=True, text=True, cwd="/", timeout=30)
    check(outcome.returncode == 0 and outcome.stderr == "", f"{words}: {outcome}")
    return sorted(set(outcome.stdout.split()))


def completion_bash():
    check(set(verbs()) < set(in_bash("ebb", "")), f"{in_bash('ebb', '')}")
    for words, wanted in (
        (["rep"], ["report"]),
        (["help", "wat"], ["watch"]),
        (["run", "--alloc"], ["--allocator"]),
        (["run", "--allocator", "mima"], ["mimalloc"]),
        (["run", "--allocator", "=", "mima"], ["mimalloc"]),
        (["run", "--allocator", "="], ["ebb", "glibc", "jemalloc", "mimalloc", "tcmalloc"]),
        (["run", "--save", "/et"], ["/etc"]),
        (["run", "--load", "x", "mkfif"], ["mkfifo"]),
        (["run", "--", "mkfif"], ["mkfifo"]),
        # Words of the command are not ours.
        (["run", "--", "cat", "--sav"], []),
        (["run", "cat", "--sav"], []),
        (["run", "--", "cat", "/et"], ["/etc"]),
        (["report", "--json", "/et"], ["/etc"]),
        (["watch", "--interval", ""], []),
        (["nothing", ""], []),
    ):
        found = [word for word in in_bash("ebb", *words) if not word.startswith("/etc/")]
        check([word for word in found if word in wanted] == wanted and (wanted or not found), f"{words}: {found}, wanted {wanted}")
    check(str(os.getpid()) in in_bash("ebb", "watch", ""), "no processes")
    for verb in verbs():
        text = expect(ebb(verb, "--help"), code=0).out
        flags = set(re.findall(r"(?<![\w-])(--[a-z][a-z-]*|-[a-z])(?![\w-])", text))
        check(flags | {"--help"} == set(in_bash("ebb", verb, "-")), f"{verb}: {flags ^ set(in_bash('ebb', verb, '-'))}")


def completion_fish():
    if not shutil.which("fish"):
        return

    def complete(line):
        with temporary() as home:
            outcome = subprocess.run(["fish", "--no-config", "-c", f"source {SOURCE}/packaging/completions/ebb.fish; complete -C '{line}'"],
                                     capture_output=True, text=True, timeout=60, env=dict(os.environ, HOME=home))
        check(outcome.returncode == 0 and outcome.stderr == "", f"{outcome}")
        return [row.split("\t")[0] for row in outcome.stdout.splitlines()]

    check(set(verbs()) < set(complete("ebb ")), f"{complete('ebb ')}")
    check(complete("ebb run --allocato") == ["--allocator"], f"{complete('ebb run --allocato')}")
    check(complete("ebb run --allocator mim") == ["mimalloc"], "no allocators")
    check("/etc/" in complete("ebb report /et"), f"{complete('ebb report /et')}")
    check("--html" not in complete("ebb run --h"), "another verb's flags")


def typed(shell, keys, wanted, seconds=20):
    """What is on the line once `keys` were typed in a real zsh, as soon as it holds `wanted`."""
    with temporary() as home:
        pid, fd = pty.fork()
        if pid == 0:
            os.environ.update(HOME=home, TERM="dumb", ZDOTDIR=home, PS1="READY>")
            os.execvp(shell, [shell, "-f", "-i"])
        seen, asked, end = "", False, time.monotonic() + seconds
        try:
            os.write(fd, f"fpath=({SOURCE}/packaging/completions $fpath); autoload -U compinit; compinit -u -D; "
                         f"path=({os.path.dirname(EBB)} $path); PS1='RE''ADY>'\n".encode())
            while time.monotonic() < end and wanted not in seen:
                if select.select([fd], [], [], 0.2)[0]:
                    seen += os.read(fd, 4096).decode(errors="replace")
                if "READY>" in seen.split("PS1=", 1)[-1] and not asked:
                    asked, seen = True, ""
                    os.write(fd, keys.encode())
            return seen
        finally:
            os.close(fd)
            os.kill(pid, 9)
            os.waitpid(pid, 0)


def completion_zsh():
    if not shutil.which("zsh"):
        return
    for keys, wanted in (("ebb rep\t", "ebb report "), ("ebb run --allocato\tmim\t", "=mimalloc "),
                         ("ebb report --htm\t", "--html="), ("ebb run -- mkfif\t", "-- mkfifo ")):
        seen = typed("zsh", keys, wanted)
        check(wanted in seen, f"{keys!r}: {seen!r}")


def screen_help_fits_one():
    """24 lines of 80 columns, the last for the prompt."""
    for arguments in ["--help"], *([verb, "--help"] for verb in verbs()):
        lines = expect(ebb(*arguments), code=0).out.splitlines()
        check(len(lines) <= 23 and max(map(len, lines)) <= 80, f"{arguments}: {len(lines)} lines of {max(map(len, lines))} columns")


def screen_every_verb_has_a_page_and_a_golden():
    for verb in verbs():
        for name in f"packaging/man/ebb-{verb}.1", f"tests/golden/help-{verb}.txt":
            check((SOURCE / name).exists(), f"no {name}")
        check(f"ebb-{verb}(1)" in (SOURCE / "src/cli/pages.def").read_text(), f"no page refers to ebb-{verb}(1)")
