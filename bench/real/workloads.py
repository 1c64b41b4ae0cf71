"""The programs that are measured: how each is started, what it reads and what it must put out.

A workload is prepared once for a scale (its inputs are written, no allocator preloaded) and then run in a
fresh process for each peer and round. What it puts out, on stdout and in files, must be the same every time.
"""

import pathlib
import re
import subprocess
from dataclasses import dataclass, field

from . import inputs

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"


class Missing(Exception):
    """A program that a workload needs is not on this machine."""


@dataclass
class Job:
    """One workload, ready to run in its directory."""

    program: str  # absolute
    arguments: list
    probe: list  # arguments with which the same program only starts and ends
    outputs: str = ""  # a pattern for the files it writes, below its directory
    stdin: str | None = None
    env: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Workload:
    name: str
    what: str
    needs: str  # the Debian package
    prepare: object  # (directory, scale) -> Job; None for a server, see served.py
    versions: tuple  # a command whose first line is the version


def program(path, package):
    if not pathlib.Path(path).exists():
        raise Missing(f"there is no {path}: install the Debian package {package} (scripts/bootstrap real does)")
    return path


def checked(command, directory, **more):
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False, **more)
    if done.returncode != 0:
        raise Missing(f"{' '.join(command)}: {done.stderr.strip()[:500]}")
    return done.stdout


def compiler_pass(name):
    """cc1 or cc1plus: the compiler proper, without the driver, the assembler and their processes."""
    path = checked(["/usr/bin/gcc", f"-print-prog-name={name}"], "/").strip()
    return program(path, "gcc" if name == "cc1" else "g++")


def python(_directory, scale, env):
    # Hashes of strings are seeded at random otherwise, and dicts then differ from run to run.
    env = {"PYTHONHASHSEED": "0", **env}
    arguments = ["-s", "-S", "-B", str(PROGRAMS / "work.py"), str(scale)]
    return Job(program("/usr/bin/python3", "python3"), arguments, ["-S", "-c", ""], env=env)


def python_pools(directory, scale):
    return python(directory, scale, {})


def python_malloc(directory, scale):
    return python(directory, scale, {"PYTHONMALLOC": "malloc"})


def ruby(_directory, scale):
    return Job(program("/usr/bin/ruby", "ruby"), [str(PROGRAMS / "work.rb"), str(scale)], ["-e", ""])


def sqlite(directory, scale):
    (directory / "script.sql").write_text(inputs.sql(scale))
    return Job(program("/usr/bin/sqlite3", "sqlite3"), [":memory:"], ["-version"], stdin="script.sql")


def compile_c(directory, scale):
    (directory / "large.c").write_text(inputs.c_source(scale))
    return Job(compiler_pass("cc1"), ["-quiet", "-O2", "large.c", "-o", "out.s"], ["-version", "/dev/null"], "out.s")


def compile_cpp(directory, scale):
    macro = f"-DEBB_ROUNDS={max(1, round(scale)) if scale >= 0.1 else 0}"  # 0 is for tests
    checked(["/usr/bin/g++", "-std=gnu++17", macro, "-E", str(PROGRAMS / "templates.cpp"), "-o", "templates.ii"], directory)
    return Job(
        compiler_pass("cc1plus"), ["-quiet", "-O2", "-std=gnu++17", "templates.ii", "-o", "out.s"],
        ["-version", "/dev/null"], "out.s")


GS = ["-q", "-dSAFER", "-dBATCH", "-dNOPAUSE"]
GS_PICTURE = [*GS, "-sDEVICE=png16m", "-dTextAlphaBits=4", "-dGraphicsAlphaBits=4"]


def gs_postscript(directory, scale):
    (directory / "pages.ps").write_text(inputs.postscript(scale))
    return Job(program("/usr/bin/gs", "ghostscript"), [*GS_PICTURE, "-r72", "-o", "page%d.png", "pages.ps"], [*GS, "-h"], "page*.png")


def gs_pdf(directory, scale):
    (directory / "pages.ps").write_text(inputs.postscript(2 * scale))
    gs = program("/usr/bin/gs", "ghostscript")
    checked([gs, *GS, "-sDEVICE=pdfwrite", "-o", "pages.pdf", "pages.ps"], directory)
    return Job(gs, [*GS_PICTURE, "-r72", "-o", "page%d.png", "pages.pdf"], [*GS, "-h"], "page*.png")


ALL = [
    Workload("python", "json, dicts, strings, re, sqlite3; small objects in Python's own pools", "python3", python_pools,
             ("/usr/bin/python3", "--version")),
    Workload("python-malloc", "the same with PYTHONMALLOC=malloc: every object is a malloc", "python3", python_malloc,
             ("/usr/bin/python3", "--version")),
    Workload("ruby", "JSON, hashes, strings, regular expressions, templates", "ruby", ruby, ("/usr/bin/ruby", "--version")),
    Workload("sqlite", "a script in memory: many small rows, indices, joins, a trigger", "sqlite3", sqlite,
             ("/usr/bin/sqlite3", "--version")),
    Workload("cc1", "gcc -O2, the compiler itself, on a generated C file", "gcc", compile_c, ("/usr/bin/gcc", "--version")),
    Workload("cc1plus", "g++ -O2, the compiler itself, on templates of the standard library", "g++", compile_cpp, ("/usr/bin/g++", "--version")),
    Workload("gs", "PostScript pages with fonts, curves, shadings to PNG", "ghostscript", gs_postscript, ("/usr/bin/gs", "--version")),
    Workload("gs-pdf", "PDF pages to PNG", "ghostscript", gs_pdf, ("/usr/bin/gs", "--version")),
    Workload("redis", "redis-benchmark, pipelined: CPU of the server alone", "redis-server", None, ("/usr/bin/redis-server", "--version")),
]


def select(pattern):
    return [w for w in ALL if pattern is None or re.search(pattern, w.name)]
