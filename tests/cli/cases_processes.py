"""tree, signals, preload: whose memory it is, who is told what, and whether the library is in."""

import os
import shutil
import signal
import subprocess
import time

from lib import (EBB, LIB, MIB, Failed, Outcome, check, document, ebb, environment, expect, finish, free_port, near, program,
                 run_json, start, temporary)

GLIBC = ["--allocator", "glibc"]


def tree_is_summed_by_pss():
    """20 MiB shared by fork, four children with 10 MiB of their own, and an orphan with 10."""
    result = run_json(*GLIBC, "--rest", "1s", "--load", "sleep 2", "--", program("forks"), "20", "4", "10", "60")
    rest = result["resting"][0]
    check(result["basis"] == "pss", result["basis"])
    check(rest["processes"] >= 6, f"{rest['processes']} processes")
    near(rest["bytes"], 72 * MIB, 6 * MIB, "resting PSS")
    check(rest["rss_bytes"] > 150 * MIB, "RSS summed would count the shared part for each")
    peak = result["peak"]
    check(70 * MIB <= peak["bytes"] <= peak["upper_bytes"], f"{peak}")
    check(result["totals"]["processes_seen"] >= 6, f"{result['totals']}")


def tree_leaves_nothing_behind():
    """The orphan, and a child that ignores SIGTERM, end with the run."""
    with temporary() as directory:
        script = f"(trap '' TERM; echo $BASHPID > {directory}/pid; exec sleep 60) & wait; exit 0"
        began = time.monotonic()
        result = run_json(*GLIBC, "--grace", "500ms", "--rest", "0s", "--load", "true", "--", "bash", "-c", script)
        check(result["killed"], "it was not killed")
        check(time.monotonic() - began < 30, "took too long")
        pid = open(f"{directory}/pid").read().strip()
        check(not os.path.exists(f"/proc/{pid}"), f"process {pid} is still there")


def tree_daemon_is_followed():
    port = free_port()
    result = run_json(*GLIBC, "--ready-tcp", f"127.0.0.1:{port}", "--rest", "1s", "--load",
                      f"curl -sf http://127.0.0.1:{port}/hold?30", "--", program("server"), str(port), "daemon",
                      "boot=300")
    check(result["outcome"] == "complete", result["outcome"])
    near(result["resting"][0]["bytes"], 31.5 * MIB, 2 * MIB, "resting memory of the daemon")
    check(any("background" in note for note in result["notes"]), f"{result['notes']}")


def tree_jobs_of_a_shell_that_became_ebb():
    """`sleep & exec ebb run`: the job is a child of ebb then, and still none of its business."""
    script = f"{program('touch')} 80 4000 & sleep 0.5; exec {EBB} run --json --allocator glibc --rest 1s --load true -- sleep 30"
    process = subprocess.run(["bash", "-c", script + "\n"], capture_output=True, text=True, env=environment(), timeout=60)
    result = document(Outcome(process.returncode, process.stdout, process.stderr))
    check(result["boot"]["processes"] == 1 and result["totals"]["processes_seen"] == 1, f"{result['boot']}")
    check(result["peak"]["bytes"] < 10 * MIB, f"{result['peak']}")


def tree_large_child_of_a_small_shell():
    port = free_port()
    result = run_json(*GLIBC, "--ready-tcp", f"127.0.0.1:{port}", "--rest", "1s", "--load", "true",
                      "--", "sh", "-c", f"{program('server')} {port} hold=50; exit $?")
    near(result["boot"]["bytes"], 51.5 * MIB, 3 * MIB, "boot")
    check(result["boot"]["processes"] == 2 and result["basis"] == "pss", f"{result['boot']}")


def wait_for(process, text):
    """Reads stdout up to `text`."""
    seen = b""
    while text not in seen:
        byte = os.read(process.stdout.fileno(), 1)
        check(byte, f"ended before {text!r}: {seen!r}")
        seen += byte


def signals_are_passed_on():
    process = start("run", *GLIBC, "--", program("signals"))
    wait_for(process, b"up\n")
    for name in "HUP", "USR1", "USR2", "QUIT", "INT":
        process.send_signal(getattr(signal, f"SIG{name}"))
        wait_for(process, f"{name}\n".encode())
    process.send_signal(signal.SIGTERM)
    outcome = expect(finish(process), code=42, out=r"\ATERM\n")
    expect(outcome, out=r"ended +after .*: exit 42")


def signals_term_is_followed_by_kill():
    process = start("run", *GLIBC, "--grace", "500ms", "--", "sh", "-c", "trap '' TERM; echo up; while :; do sleep 1; done")
    wait_for(process, b"up\n")
    process.send_signal(signal.SIGTERM)
    expect(finish(process), code=137, out=r"killed by SIGKILL \(it outlasted --grace\)")


def signals_default_action():
    process = start("run", *GLIBC, "--", "sh", "-c", "echo up; exec sleep 30")
    wait_for(process, b"up\n")
    time.sleep(0.2)
    process.send_signal(signal.SIGTERM)
    expect(finish(process), code=143, out=r"killed by SIGTERM")


def signals_interrupt_ends_a_run_with_load():
    process = start("run", *GLIBC, "--load", "sleep 60", "--", "sh", "-c", "echo up; exec sleep 60")
    wait_for(process, b"up\n")
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    expect(finish(process), code=130, err=r"ebb: interrupted \(SIGINT\)", err_lines=1, out=r"^  peak ")


def signals_mask_is_the_callers():
    """The command must not inherit what ebb blocks for itself."""
    outcome = ebb("run", *GLIBC, "--", "grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status")
    plain = subprocess.run(["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"], capture_output=True, text=True).stdout
    check(outcome.out.startswith(plain), f"wanted\n{plain}\n{outcome}")


def signals_ignored_sigchld():
    """A parent that ignores SIGCHLD hands that on: nobody could be waited for."""
    process = subprocess.run(["bash", "-c", f"trap '' CHLD; exec {EBB} run --allocator glibc -- sh -c 'exit 4'"],
                             capture_output=True, text=True, env=environment(), timeout=60)
    check(process.returncode == 4, f"{process.returncode} {process.stderr}")


# --- preload


def preload_of_every_allocator():
    for name, library in ("jemalloc", "libjemalloc"), ("mimalloc", "libmimalloc"), ("tcmalloc", "libtcmalloc_minimal"):
        outcome = ebb("run", "--json", "--allocator", name, "--rest", "0s", "--load", "true", "--", "sleep", "30")
        check(outcome.code == 0, f"{name}: install its package (scripts/bootstrap does)\n{outcome}")
        allocator = document(outcome)["allocator"]
        check(allocator["preload"] == "taken" and library in allocator["path"], f"{allocator}")
        check(allocator["build_id"], "no build id")


def preload_ebb_and_its_figures():
    check((LIB / "libebb.so").exists(), f"{LIB}/libebb.so is not built")
    port = free_port()
    result = run_json("--ready-tcp", f"127.0.0.1:{port}", "--rest", "3s", "--load",
                      f"curl -sf http://127.0.0.1:{port}/hold?20 && curl -sf http://127.0.0.1:{port}/burst?100",
                      "--", program("server"), str(port))
    rest = result["resting"][-1]
    check(result["allocator"]["preload"] == "taken", f"{result['allocator']}")
    check(rest["ebb"] and rest["ebb"]["processes"] == 1, f"no snapshot: {rest}")
    near(rest["ebb"]["live_bytes"], 20 * MIB, 2 * MIB, "live")
    check(rest["ebb"]["held_bytes"] < 8 * MIB, f"held {rest['ebb']['held_bytes']}")
    check(rest["ebb"]["main"]["live_bytes"] == rest["ebb"]["live_bytes"], "the main process is all there is")
    check(rest["bytes"] < 40 * MIB, f"resting {rest['bytes']}")


def preload_by_path():
    with temporary() as directory:
        copy = f"{directory}/liballoc.so"
        library = run_json("--allocator", "jemalloc", "--", "true")["allocator"]["path"]
        shutil.copy(library, copy)
        allocator = run_json("--allocator", copy, "--rest", "0s", "--load", "true", "--", "sleep", "9")["allocator"]
        check(allocator["preload"] == "taken" and allocator["name"] == "liballoc.so", f"{allocator}")
        expect(ebb("run", "--allocator", copy, "--conf", "a:1", "true"), code=2, err=r"does not know how", err_lines=1)


def preload_keeps_what_was_there():
    jemalloc = run_json("--allocator", "jemalloc", "--", "true")["allocator"]["path"]
    outcome = ebb("run", "--allocator", "mimalloc", "--", "sh", "-c", "echo $LD_PRELOAD",
                  env=environment(LD_PRELOAD=jemalloc))
    expect(outcome, code=0, out=rf"\A/\S*libmimalloc\S*:{jemalloc}\n")


def preload_conf():
    for name, conf, wanted in (
        ("jemalloc", "narenas:2,dirty_decay_ms:0", "MALLOC_CONF=narenas:2,dirty_decay_ms:0"),
        ("ebb", "delay:500ms", "EBB_CONF=delay:500ms"),
        ("glibc", "arena_max:2,trim_threshold:65536",
         "GLIBC_TUNABLES=glibc.malloc.arena_max=2:glibc.malloc.trim_threshold=65536"),
        ("mimalloc", "purge_delay:0", "MIMALLOC_PURGE_DELAY=0"),
        ("tcmalloc", "release_rate:10", "TCMALLOC_RELEASE_RATE=10"),
    ):
        outcome = ebb("run", "--allocator", name, "--conf", conf, "--", "env")
        expect(outcome, code=0)
        check(wanted in outcome.out.splitlines(), f"{name}: no {wanted}\n{outcome}")
        expect(outcome, out=rf"^under {name} {conf}")


def missed(reason, sentence, *command, env=None):
    arguments = ["--allocator", "jemalloc", "--rest", "0s", "--load", "true", "--", *command]
    result = run_json(*arguments, env=env)
    allocator = result["allocator"]
    check(allocator["preload"] == "missed" and allocator["preload_reason"] == reason, f"{command}: {allocator}")
    check(result["boot"]["bytes"], "it was not measured all the same")
    outcome = expect(ebb("run", *arguments, env=env), code=0)
    notes = " ".join(outcome.out.split())  # they are wrapped
    check(f"note: libjemalloc.so.2 is not in the command: {sentence}" in notes, f"{outcome}")


def preload_static():
    missed("static", "the program is statically linked", program("touch-static"), "1", "60000")


def preload_short_static():
    allocator = run_json("--allocator", "jemalloc", "--", program("touch-static"), "1")["allocator"]
    check(allocator["preload_reason"] == "static", f"{allocator}")


def preload_short_is_not_verified():
    outcome = expect(ebb("run", "--allocator", "jemalloc", "--", "true"), code=0, err_lines=0)
    check("note:" not in outcome.out, f"{outcome}")


def preload_musl():
    with temporary() as directory:
        source = f"{directory}/idle.c"
        with open(source, "w") as file:
            file.write("#include <unistd.h>\nint main(void) { sleep(60); return 0; }\n")
        subprocess.run(["musl-gcc", "-o", f"{directory}/idle", source], check=True)
        outcome = ebb("run", "--json", "--allocator", "jemalloc", "--rest", "0s", "--load", "true", "--",
                      f"{directory}/idle")
        allocator = document(outcome)["allocator"]
        check(allocator["preload"] == "missed" and allocator["preload_reason"] == "libc", f"{allocator}\n{outcome}")


def preload_setuid():
    if os.getuid() != 0:
        raise Failed("needs root, to make a program that is set-user-ID to somebody else")
    # /tmp may be mounted nosuid: then the bit would have no effect at all.
    for place in (os.environ["EBB_CLI_PROGRAMS"], "/usr/local/bin"):
        if not os.statvfs(place).f_flag & os.ST_NOSUID:
            break
    path = f"{place}/ebb-test-setuid-{os.getpid()}"
    try:
        shutil.copy(program("touch"), path)
        os.chown(path, 65534, 65534)
        os.chmod(path, 0o4755)
        missed("setuid", "the program is set-user-ID", path, "1", "60000")
    finally:
        os.unlink(path)


def preload_dropped_by_a_wrapper():
    missed("environment", "LD_PRELOAD is not in its environment", "env", "-u", "LD_PRELOAD", "sleep", "60")


def preload_in_part_of_a_tree():
    outcome = ebb("run", "--allocator", "jemalloc", "--rest", "0s", "--load", "true", "--", "sh", "-c",
                  f"{program('touch-static')} 1 60000; true")
    expect(outcome, code=0, out=r"note: 1 of 2 processes run without jemalloc")


def preload_other_allocator_is_named():
    jemalloc = run_json("--allocator", "jemalloc", "--", "true")["allocator"]["path"]
    outcome = ebb("run", *GLIBC, "--rest", "0s", "--load", "true", "--", "env", f"LD_PRELOAD={jemalloc}", "sleep", "60")
    expect(outcome, code=0, out=r"note: libjemalloc\.so\.2 is linked by the command itself")


def preload_script_with_interpreter():
    with temporary() as directory:
        path = f"{directory}/script"
        with open(path, "w") as file:
            file.write("#!/bin/sh\nsleep 60\n")
        os.chmod(path, 0o755)
        allocator = run_json("--allocator", "jemalloc", "--rest", "0s", "--load", "true", "--", path)["allocator"]
        check(allocator["preload"] == "taken", f"{allocator}")


def preload_build_tree_comes_first():
    allocator = run_json("--", "true")["allocator"]
    check(allocator["path"] == os.path.realpath(LIB / "libebb.so"), f"{allocator}")
