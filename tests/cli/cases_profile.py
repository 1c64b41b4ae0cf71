"""profile: who is refused and how, and what is said of processes whose heap is known."""

import contextlib
import gzip
import os
import pathlib
import shutil
import subprocess
import xml.dom.minidom

from lib import EBB, LIB, PROGRAMS, Failed, check, document, ebb, environment, expect, program, temporary

MIB = 1 << 20


@contextlib.contextmanager
def profiled(*arguments, name="profiled", **more):
    process = subprocess.Popen([program(name), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env=environment(), **more)
    try:
        if process.stdout.readline() != b"ready\n":
            raise Failed(f"{name} did not get ready")
        yield str(process.pid)
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


def refused(pid, line):
    outcome = expect(ebb("profile", pid), code=3, err=line, err_lines=1)
    check(outcome.out == "", f"something on stdout\n{outcome}")


def profile_of_nobody():
    with profiled() as pid:
        pass
    refused(pid, rf"^ebb: process {pid}: there is none of that number")


def profile_not_under_ebb():
    process = subprocess.Popen(["sleep", "60"])
    try:
        refused(str(process.pid), r"^ebb: process \d+ \(sleep\) does not run under Ebb: start it with LD_PRELOAD=")
    finally:
        process.kill()
        process.wait()


def profile_sampling_is_off():
    with profiled("off") as pid:
        refused(pid, r"its allocations are not sampled: start it without sample:0")


def profile_newer_library():
    with profiled("newer") as pid:
        refused(pid, r"its libebb is newer than this ebb \(profile version 2, known is 1\): use the ebb of its own")


def profile_overwritten():
    with profiled("overwritten") as pid:
        refused(pid, r"where its profile should lie is something else")


def profile_no_rights():
    """A process of root's, looked at by nobody; only root can try this."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        return
    with temporary() as directory, profiled() as pid:
        os.chmod(directory, 0o755)
        copy = shutil.copy(EBB, directory)
        run = subprocess.run(["setpriv", "--reuid", "65534", "--clear-groups", copy, "profile", pid],
                             capture_output=True, text=True, env=environment())
        check(run.returncode == 3 and "its memory may not be read: use sudo" in run.stderr, f"{run}")


def profile_nothing_yet():
    with profiled("empty") as pid:
        expect(ebb("profile", pid), code=0, out=r"^profiled \(process \d+\): 0\.0 MiB live", err_lines=0)


def profile_tables():
    with profiled() as pid:
        outcome = ebb("profile", pid)
    expect(outcome, code=0, err_lines=0, out=r"^profiled \(process \d+\): 40\.0 MiB live, standard error 3\.9$")
    expect(outcome, out=r"^ +32\.0 +3\.9 +80 % +32\.0  inlined \(profiled\)$")
    expect(outcome, out=r"^ +8\.0 +0\.0 +20 % +8\.0  fill_cache \(profiled\)$")


def profile_folded_names_inlined_functions():
    with profiled() as pid:
        outcome = expect(ebb("profile", "--folded", pid), code=0, err_lines=0)
    check(outcome.out.splitlines()[-1].endswith(f";main;serve;parse_request;inlined {32 * MIB}"), f"{outcome}")
    check(f";main;serve;fill_cache {8 * MIB}\n" in outcome.out, f"{outcome}")


def profile_unloaded_library_keeps_its_name():
    with profiled("", str(PROGRAMS / "profiled-plugin.so")) as pid:
        stacks = document(ebb("profile", pid, "--json"))
        maps = pathlib.Path(f"/proc/{pid}/maps").read_text()
    check("profiled-plugin" not in maps, "the library is still there")
    names = [library["name"] for library in stacks["libraries"]]
    check("profiled-plugin.so" in names, f"{names}")
    check(any("plugin_call" in stack["frames"] for stack in stacks["stacks"]), f"{stacks['stacks']}")


def profile_json():
    with profiled() as pid:
        result = document(ebb("profile", pid, "--json"))
        total = document(ebb("profile", pid, "--json", "--total"))
    check(result["schema"] == "ebb.profile/1" and result["pid"] == int(pid), "head")
    check(result["bytes"] == 40 * MIB and total["bytes"] == 80 * MIB and total["error_bytes"] is None, "sums")
    check(sum(stack["bytes"] for stack in result["stacks"]) == 40 * MIB, "stacks")
    check(sum(function["flat_bytes"] for function in result["functions"]) == 40 * MIB, "functions")
    cum = {function["name"]: function["cum_bytes"] for function in result["functions"]}
    check(cum["serve"] == 40 * MIB and cum["parse_request"] == 32 * MIB, f"{cum}")


def profile_cxx():
    if not (PROGRAMS / "profiled-cxx").exists():
        return
    with profiled(name="profiled-cxx") as pid:
        expect(ebb("profile", pid, "--folded"), code=0, out=rf";main;shop::Order::add;shop::Basket<long>::put {24 * MIB}$")


# --- Stripped programs, debug links, containers ---------------------------------------------


def stripped(directory, link):
    """profiled without debug information in it; link: with a link to it."""
    path = f"{directory}/profiled"
    debug = path + ".debug"
    shutil.copy(program("profiled"), path)
    subprocess.run(["objcopy", "--only-keep-debug", path, debug], check=True)
    subprocess.run(["objcopy", "--strip-debug", "--strip-unneeded", path], check=True)
    if link:
        subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", path], check=True, cwd=directory)
    else:
        os.unlink(debug)
    return path


def profile_debug_link():
    with temporary() as directory, profiled(name=stripped(directory, link=True)) as pid:
        expect(ebb("profile", pid, "--folded"), code=0, out=rf";main;serve;parse_request;inlined {32 * MIB}$")


def profile_without_any_names():
    """What has no name counts for its library."""
    with temporary() as directory, profiled(name=stripped(directory, link=False)) as pid:
        expect(ebb("profile", pid, "--folded"), code=0, out=rf";main;\[profiled\];\[profiled\] {40 * MIB}$")
        expect(ebb("profile", pid), code=0, out=r"100 % +40\.0  \[profiled\]$")


def profile_replaced_on_disk():
    """The program's file is another one by now: its own is still there as /proc/PID/exe."""
    with temporary() as directory:
        path = f"{directory}/profiled"
        shutil.copy(program("profiled"), path)
        with profiled(name=path) as pid:
            os.unlink(path)
            refused(pid, r"was replaced on disk")


def profile_another_root():
    """A path that only the process sees, as in a container; needs root."""
    if os.geteuid() != 0:
        return
    with temporary() as directory:
        shutil.copy(program("profiled"), f"{directory}/hidden-server")
        for library in subprocess.run(["ldd", program("profiled")], capture_output=True, text=True,
                                      check=True).stdout.split():
            if library.startswith("/"):
                os.makedirs(directory + os.path.dirname(library), exist_ok=True)
                shutil.copy(library, directory + library)
        process = subprocess.Popen(["chroot", directory, "/hidden-server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            check(process.stdout.readline() == b"ready\n", "did not get ready")
            expect(ebb("profile", str(process.pid), "--folded"), code=0,
                   out=rf";main;serve;parse_request;inlined {32 * MIB}$")
        finally:
            process.stdin.close()
            process.wait()
            process.stdout.close()


# --- Under libebb ---------------------------------------------------------------------------


@contextlib.contextmanager
def under_ebb(*command):
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env=environment(LD_PRELOAD=str(LIB / "libebb.so")))
    try:
        if process.stdout.readline() != b"ready\n":
            raise Failed(f"{command[0]} did not get ready")
        yield str(process.pid)
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


def near_by_its_error(row, wanted, what):
    """Five standard errors: one run in two million is further off."""
    slack = 5 * row["flat_error_bytes"] + wanted * 0.02 + MIB / 4
    check(abs(row["flat_bytes"] - wanted) <= slack, f"{what}: {row}, wanted {wanted} +- {slack:.0f}")


def holders(name):
    if not (PROGRAMS / name).exists():
        return
    with under_ebb(program(name)) as pid:
        live = document(ebb("profile", pid, "--json"))
        total = document(ebb("profile", pid, "--json", "--total"))
    rows = {row["name"]: row for row in live["functions"]}
    near_by_its_error(rows["hold_pages"], 32 * MIB, "malloc")
    near_by_its_error(rows["hold_names"], 16 * MIB, "strdup")
    near_by_its_error(rows["shop::Basket::fill"], 16 * MIB, "std::string")
    check(rows.get("pass_by", {"flat_bytes": 0})["flat_bytes"] == 0, "what was freed is live")
    passed = next(row for row in total["functions"] if row["name"] == "pass_by")
    check(32 * MIB <= passed["flat_bytes"] <= 110 * MIB, f"64 MiB passed by: {passed}")
    libraries = {row["name"]: row for row in live["libraries"]}
    near_by_its_error(libraries[name], 64 * MIB, "the program")


def profile_of_known_holders():
    holders("holder")


def profile_of_a_program_with_gaps():
    holders("holder-gaps")


def profile_of_python():
    """Memory of an extension's library counts for that."""
    script = ("import sqlite3; c = sqlite3.connect(':memory:'); c.execute('create table t(a)'); "
              "c.executemany('insert into t values(?)', [('x' * 500,)] * 60000); print('ready', flush=True); input()")
    with under_ebb("python3", "-c", f"try:\n {script}\nexcept EOFError: pass") as pid:
        live = document(ebb("profile", pid, "--json"))
    sqlite = next(row for row in live["libraries"] if row["name"].startswith("libsqlite3"))
    check(sqlite["flat_bytes"] > 15 * MIB, f"{sqlite}")
    check(any("pysqlite" in row["name"] or "_sqlite3" in row["library"] for row in live["functions"]), "no extension")


# --- Files ----------------------------------------------------------------------------------


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def message(data):
    """Fields of a protocol buffer's message: number -> list of integers and byte strings."""
    fields, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        else:
            check(key & 7 == 0, f"wire type {key & 7}")
        fields.setdefault(key >> 3, []).append(value)
    check(at == len(data), "cut off")
    return fields


def packed(data):
    values, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def profile_pprof():
    with temporary() as directory, profiled() as pid:
        path = f"{directory}/heap.pb.gz"
        expect(ebb("profile", pid, "-o", path), code=0, err_lines=0, out="MiB live")
        whole = message(gzip.open(path).read())
    strings = [text.decode() for text in whole[6]]
    check(strings[0] == "", "the first string is not empty")
    types = [[strings[kind[1][0]], strings[kind[2][0]]] for kind in map(message, whole[1])]
    check(types == [["inuse_objects", "count"], ["inuse_space", "bytes"], ["alloc_objects", "count"],
                    ["alloc_space", "bytes"]], f"{types}")
    check(strings[whole[14][0]] == "inuse_space" and whole[12] == [512 << 10], "period")
    functions = {f[1][0]: strings[f[2][0]] for f in map(message, whole[5])}
    locations = {l[1][0]: l for l in map(message, whole[4])}
    mappings = {m[1][0]: m for m in map(message, whole[3])}
    first = message(whole[3][0])
    check(strings[first[5][0]].endswith("/profiled") and len(strings[first[6][0]]) == 40, "the program's mapping")
    seen = {}
    for sample in map(message, whole[2]):
        names = []
        for number in packed(sample[1][0]):
            location = locations[number]
            mapping = mappings[location[2][0]]
            check(mapping[2][0] <= location[3][0] < mapping[3][0], "an address outside of its mapping")
            names += [functions[message(line)[1][0]] for line in location.get(4, [])]
        seen[names[0]] = names, packed(sample[2][0])
    names, values = seen["inlined"]
    check(names[:4] == ["inlined", "parse_request", "serve", "main"], f"{names}")
    check(values == [512, 32 * MIB, 1024, 64 * MIB], f"{values}")


def profile_svg():
    with temporary() as directory, profiled() as pid:
        path = f"{directory}/heap.svg"
        expect(ebb("profile", pid, "--svg", path), code=0, err_lines=0)
        graph = xml.dom.minidom.parse(path)
    titles = [title.firstChild.data.split("\n")[0] for title in graph.getElementsByTagName("title")]
    check(titles[-5:] == ["main", "serve", "fill_cache", "parse_request", "inlined"], f"{titles}")
    check(len(graph.getElementsByTagName("script")) == 1, "no script")


def profile_cannot_write():
    with profiled() as pid:
        expect(ebb("profile", pid, "-o", "/dev/full"), code=3, err=r"^ebb: /dev/full: No space left", err_lines=1)


def profile_usage():
    for arguments, line in [
        ([], r"ebb: no process: ebb profile PID"),
        (["1x"], r"ebb: '1x': write the number of a process, as pgrep prints it"),
        (["-1"], r"ebb: unknown option -1: see ebb profile --help"),
        (["0"], r"ebb: '0': write the number"),
        (["99999999999999999999"], r"ebb: '9+': write the number"),
        (["1", "2"], r"ebb: one process at a time: what is 2\?"),
        (["1", "--json", "--folded"], r"ebb: --folded and --json exclude each other: give one"),
        (["1", "-o"], r"ebb: -o needs a value: -o FILE\.pb\.gz"),
        (["1", "--o", "x"], r"ebb: unknown option --o"),
        (["1", "-o", "/nowhere/x"], r"ebb: -o /nowhere/x: No such file or directory"),
        (["1", "--svg", "/"], r"ebb: --svg /: Is a directory"),
    ]:
        expect(ebb("profile", *arguments), code=2, err=line, err_lines=1)
