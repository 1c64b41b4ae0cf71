"""usage: wrong arguments, one clear line each. help: goldens."""

import os
import re

from lib import EBB, SOURCE, check, ebb, environment, expect, program, temporary

# arguments -> exit code, the one line on stderr (a regular expression for all of it)
USAGE = [
    (["run"], 2, r"ebb: no command: ebb run \[OPTION\.\.\.\] -- COMMAND \[ARGUMENT\.\.\.\]"),
    (["run", "--"], 2, r"ebb: no command: .*"),
    (["rum"], 2, r"ebb: unknown verb 'rum': did you mean ebb run\?"),
    (["frobnicate"], 2, r"ebb: unknown verb 'frobnicate': see ebb --help"),
    (["help", "rnu"], 2, r"ebb: unknown verb 'rnu': did you mean ebb run\?"),
    (["run", "--alocator", "glibc", "true"], 2, r"ebb: unknown option --alocator: did you mean --allocator\?"),
    (["run", "--frobnicate", "true"], 2, r"ebb: unknown option --frobnicate: see ebb run --help"),
    (["run", "-x", "true"], 2, r"ebb: unknown option -x: see ebb run --help"),
    (["run", "--load"], 2, r"ebb: --load needs a value: --load SHELL-COMMAND"),
    (["run", "--json=yes", "true"], 2, r"ebb: --json takes no value"),
    (["run", "--rest", "soon", "true"], 2, r"ebb: --rest 'soon': write a time such as 500ms, 5s or 2m"),
    (["run", "--rest=-1s", "true"], 2, r"ebb: --rest '-1s': write a time .*"),
    (["run", "--rest", "", "true"], 2, r"ebb: --rest '': write a time .*"),
    (["run", "--rest", "1e300", "true"], 2, r"ebb: --rest '1e300': write a time .*"),
    (["run", "--rest", "0x10", "true"], 2, r"ebb: --rest '0x10': write a time .*"),
    (["run", "--rest", "5 s", "true"], 2, r"ebb: --rest '5 s': write a time .*"),
    (["run", "--rest", "nan", "true"], 2, r"ebb: --rest 'nan': write a time .*"),
    (["run", "--allocator", "dlmalloc", "true"], 2,
     r"ebb: unknown allocator 'dlmalloc': use ebb, glibc, jemalloc, mimalloc, tcmalloc or the path of a library .*"),
    (["run", "--allocator", "./nowhere.so", "true"], 3, r"ebb: --allocator \./nowhere\.so: No such file or directory"),
    (["run", "--allocator", "/etc/passwd", "true"], 2, r"ebb: /etc/passwd: not a 64-bit shared library"),
    (["run", "--allocator", "/dev/null", "true"], 2, r"ebb: /dev/null: not a 64-bit shared library"),
    (["run", "--allocator", "glibc", "--conf", "nonsense", "true"], 2,
     r"ebb: --conf 'nonsense': write KEY:VALUE, .*"),
    (["run", "--allocator", "jemalloc", "--conf", ":1", "true"], 2, r"ebb: --conf ':1': write KEY:VALUE, .*"),
    (["run", "--allocator", "glibc", "--conf", "x:" + "1" * 5000, "true"], 2, r"ebb: --conf 'x:1+': too long"),
    (["run", "--ready-tcp", "1:1", "--ready-log", "x", "true"], 2,
     r"ebb: --ready-tcp, --ready-http and --ready-log exclude each other: give one"),
    (["run", "--ready-tcp", "8080", "true"], 2, r"ebb: --ready-tcp 8080: write HOST:PORT, such as 127\.0\.0\.1:8080"),
    (["run", "--ready-tcp", "h:0", "true"], 2, r"ebb: --ready-tcp h:0: write HOST:PORT, .*"),
    (["run", "--ready-tcp", "h:70000", "true"], 2, r"ebb: --ready-tcp h:70000: write HOST:PORT, .*"),
    (["run", "--ready-tcp", "::1:80", "true"], 2, r"ebb: --ready-tcp ::1:80: write HOST:PORT, .*"),
    (["run", "--ready-http", "127.0.0.1:80", "true"], 2, r"ebb: --ready-http 127\.0\.0\.1:80: write a whole URL, .*"),
    (["run", "--ready-http", "ftp://x/", "true"], 2, r"ebb: --ready-http ftp://x/: write a whole URL, .*"),
    (["run", "--ready-log", "", "true"], 2, r"ebb: --ready-log : the text must have 1 to 1000 bytes"),
    (["run", "--save", "/nowhere/x.json", "true"], 2, r"ebb: --save /nowhere/x\.json: No such file or directory"),
    (["run", "--save", "/", "true"], 2, r"ebb: --save /: Is a directory"),
    (["run", "--allocator", "glibc", "no-such-command"], 127, r"ebb: no-such-command: No such file or directory"),
    (["run", "--allocator", "glibc", "./no/such"], 127, r"ebb: \./no/such: No such file or directory"),
    (["run", "--allocator", "glibc", "/etc/passwd"], 126, r"ebb: /etc/passwd: Permission denied"),
    (["run", "--allocator", "glibc", "/"], 126, r"ebb: /: Permission denied"),
    (["run", "--allocator", "glibc", ""], 127, r"ebb: : No such file or directory"),
    (["report"], 2, r"ebb: no files: ebb report RESULT\.\.\., made by --save of ebb run, compare, size, check or doctor"),
    (["report", "/nowhere"], 2, r"ebb: /nowhere: No such file or directory"),
    (["report", "/"], 2, r"ebb: /: Is a directory"),
    (["report", "/dev/null"], 2, r"ebb: /dev/null:1:0: no JSON: .*"),
    (["report", "--jason", "x"], 2, r"ebb: unknown option --jason: did you mean --json\?"),
    # Nothing that came from outside reaches the terminal as it is.
    (["run", "--allocator", "a\033[31m", "true"], 2, r"ebb: unknown allocator 'a\?\[31m': .*"),
]


def usage_table():
    for arguments, code, line in USAGE:
        outcome = ebb(*arguments)
        expect(outcome, code=code, err_lines=1)
        check(re.fullmatch(line, outcome.err.rstrip("\n")), f"{arguments}: wanted {line}\n{outcome}")
        check(outcome.out == "", f"{arguments}: something on stdout\n{outcome}")


def usage_nothing_at_all():
    outcome = expect(ebb(), code=2, err=r"usage: ebb VERB")
    check(outcome.out == "", f"stdout is not empty\n{outcome}")


def usage_options_end_at_the_command():
    # -l belongs to the command, with and without the dashes between.
    expect(ebb("run", "--allocator", "glibc", "echo", "--json", "-l"), code=0, out=r"^--json -l$")
    expect(ebb("run", "--allocator", "glibc", "--", "echo", "--json"), code=0, out=r"^--json$")


def usage_equals_sign():
    expect(ebb("run", "--allocator=glibc", "--rest=1s", "true"), code=0, out=r"under glibc")


def usage_library_not_installed():
    """An allocator that is not there is named with its package; needs a root without libraries."""
    outcome = ebb("run", "--allocator", "jemalloc", "true")
    if outcome.code != 0:
        expect(outcome, code=3, err=r"apt-get install libjemalloc2$", err_lines=1)


def usage_preload_cannot_carry_a_blank():
    with temporary() as directory:
        path = f"{directory}/a b.so"
        os.symlink("/dev/null", path)
        expect(ebb("run", "--allocator", path, "true"), code=2, err_lines=1)
        os.unlink(path)
        with open(program("touch"), "rb") as source, open(path, "wb") as copy:
            copy.write(source.read())
        expect(ebb("run", "--allocator", path, "true"), code=2, err=r"cannot carry a path with a blank", err_lines=1)


def golden(name, text):
    path = SOURCE / name
    if os.environ.get("EBB_GOLDEN_UPDATE"):
        path.write_text(text)
    wanted = path.read_text()
    check(text == wanted, f"{name} differs from what ebb prints; look at it, then: "
          f"EBB_GOLDEN_UPDATE=1 with the same test\n--- printed\n{text}")


def help_goldens():
    for name, arguments in {
        "tests/golden/help.txt": ["--help"],
        "tests/golden/help-run.txt": ["run", "--help"],
        "tests/golden/help-doctor.txt": ["doctor", "--help"],
        "tests/golden/help-profile.txt": ["profile", "--help"],
        "tests/golden/help-watch.txt": ["watch", "--help"],
        "tests/golden/help-compare.txt": ["compare", "--help"],
        "tests/golden/help-size.txt": ["size", "--help"],
        "tests/golden/help-check.txt": ["check", "--help"],
        "tests/golden/help-report.txt": ["report", "--help"],
        "tests/golden/help-env.txt": ["env", "--help"],
        "packaging/completions/ebb.bash": ["completion", "bash"],
        "packaging/completions/_ebb": ["completion", "zsh"],
        "packaging/completions/ebb.fish": ["completion", "fish"],
        "packaging/man/ebb.1": ["help", "--man"],
        "packaging/man/ebb-run.1": ["help", "--man", "run"],
        "packaging/man/ebb-doctor.1": ["help", "--man", "doctor"],
        "packaging/man/ebb-profile.1": ["help", "--man", "profile"],
        "packaging/man/ebb-watch.1": ["help", "--man", "watch"],
        "packaging/man/ebb-compare.1": ["help", "--man", "compare"],
        "packaging/man/ebb-size.1": ["help", "--man", "size"],
        "packaging/man/ebb-check.1": ["help", "--man", "check"],
        "packaging/man/ebb-report.1": ["help", "--man", "report"],
        "packaging/man/ebb-env.1": ["help", "--man", "env"],
    }.items():
        golden(name, expect(ebb(*arguments), code=0, err_lines=0).out)


def help_is_the_same_by_both_ways():
    check(ebb("help", "run").out == ebb("run", "--help").out, "ebb help run and ebb run --help differ")
    check(ebb("help").out == ebb("--help").out == ebb("-h").out, "ebb help and ebb --help differ")


def help_fits_a_screen():
    for arguments in ["--help"], ["run", "--help"], ["watch", "--help"], ["check", "--help"], ["report", "--help"], ["env", "--help"]:
        lines = ebb(*arguments).out.splitlines()
        check(len(lines) <= 24, f"{arguments}: {len(lines)} lines")
        check(max(map(len, lines)) <= 80, f"{arguments}: a line of {max(map(len, lines))} characters")


def help_version():
    expect(ebb("--version"), code=0, out=r"\Aebb \d+\.\d+\.\d+\n\Z", err_lines=0)


def help_full_disk():
    import subprocess
    with open("/dev/full", "w") as full:
        process = subprocess.run([EBB, "--help"], stdout=full, stderr=subprocess.PIPE, env=environment())
    check(process.returncode == 3 and process.stderr == b"ebb: stdout: No space left on device\n",
          f"{process.returncode} {process.stderr}")


def help_pages_are_clean():
    import subprocess
    pages = [str(SOURCE / "packaging/man" / f"{name}.1") for name in ("ebb", "ebb-run", "ebb-watch", "ebb-check", "ebb-report", "ebb-env")]
    process = subprocess.run(["mandoc", "-T", "lint", *pages], capture_output=True, text=True)
    check(process.returncode == 0 and process.stdout == "", f"mandoc: {process.stdout}{process.stderr}")
