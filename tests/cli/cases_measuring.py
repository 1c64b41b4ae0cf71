"""short, peak, ready, load, cost: whether the figures are right and the phases come in order."""

import os
import re
import subprocess
import time

from lib import (EBB, MIB, Failed, check, document, ebb, expect, finish, free_port, near, program, run_json, start,
                 temporary)

GLIBC = ["--allocator", "glibc"]


def short_command():
    outcome = expect(ebb("run", *GLIBC, "--", "echo", "hello"), code=0, out=r"\Ahello\n", err_lines=0)
    expect(outcome, out=r"^  boot +- ")
    expect(outcome, out=r"^  peak +\d+\.\d MiB")
    expect(outcome, out=r"^  ended +after \d+\.\d\d s: exit 0$")


def short_exit_codes():
    for code in 0, 1, 3, 42, 255:
        expect(ebb("run", *GLIBC, "--", "sh", "-c", f"exit {code}"), code=code, err_lines=0)


def short_killed_by_signal():
    outcome = expect(ebb("run", *GLIBC, "--", "sh", "-c", "kill -KILL $$"), code=137, err_lines=0)
    expect(outcome, out=r"killed by SIGKILL")
    outcome = expect(ebb("run", *GLIBC, "--", program("touch"), "-8"), code=139)
    expect(outcome, out=r"killed by SIGSEGV")


def peak_of_a_process_nobody_can_sample():
    """64 MiB for some milliseconds: no sample meets it, the kernel's mark does."""
    for mib in 16, 64, 200:
        result = run_json(*GLIBC, "--", program("touch"), str(mib))
        bound = result["peak"]["bound_bytes"]
        if result["peak"]["source"] not in ("wait4", "vmhwm"):
            # A sample met it after all, on a machine that stopped it half way: then it saw no less than the kernel.
            check(result["peak"]["sampled_rss_bytes"] >= result["peak"]["wait4_bytes"] > 0, f"source {result['peak']}")
        near(result["peak"]["bytes"], (mib + 1.5) * MIB, bound + 1.5 * MIB, f"peak of {mib} MiB")


def peak_is_not_the_launchers():
    """A program smaller than ebb itself: what is printed is a bound, and says so."""
    result = run_json(*GLIBC, "--", program("touch-static"), "0")
    check(result["peak"]["bytes"] < 3 * MIB, f"peak {result['peak']}")
    if result["peak"]["source"] == "wait4-at-most":
        # Each run may be met by a sample or not: some of them is not, and says so.
        outcomes = [ebb("run", *GLIBC, "--", program("touch-static"), "0") for _ in range(12)]
        check(any(re.search(r"peak .* at most", each.out) for each in outcomes), f"none says so\n{outcomes[0]}")


def peak_of_a_child_nobody_sampled():
    """The shell is small, its child is not and is gone at once."""
    result = run_json(*GLIBC, "--", "sh", "-c", f"{program('touch')} 100; true")
    near(result["peak"]["bytes"], 101.5 * MIB, result["peak"]["bound_bytes"] + 1.5 * MIB, "peak")


def peak_after_it_was_given_back():
    port = free_port()
    result = run_json(*GLIBC, "--ready-tcp", f"127.0.0.1:{port}", "--rest", "1s", "--load",
                      f"curl -sf http://127.0.0.1:{port}/burst?120 && curl -sf http://127.0.0.1:{port}/burst?10",
                      "--", program("server"), str(port))
    near(result["peak"]["bytes"], 122 * MIB, 3 * MIB, "peak")
    check(result["boot"]["bytes"] < 4 * MIB, f"boot {result['boot']['bytes']}")
    check(result["outcome"] == "complete", result["outcome"])


def ready_tcp():
    port = free_port()
    result = run_json(*GLIBC, "--ready-tcp", f"127.0.0.1:{port}", "--rest", "0s", "--load", "true",
                      "--", program("server"), str(port), "boot=300", "hold=20")
    check(result["ready"]["by"] == "tcp" and result["ready"]["seconds"] >= 0.3, f"{result['ready']}")
    near(result["boot"]["bytes"], 21.5 * MIB, 2 * MIB, "boot")
    check(result["boot"]["source"] == "smaps_rollup" and result["boot"]["bound_bytes"] == 0, f"{result['boot']}")


def ready_by_name():
    port = free_port()
    result = run_json(*GLIBC, "--ready-tcp", f"localhost:{port}", "--rest", "0s", "--load", "true",
                      "--", program("server"), str(port))
    check(result["outcome"] == "complete", result["outcome"])


def ready_http_waits_for_success():
    port = free_port()
    result = run_json(*GLIBC, "--ready-http", f"http://127.0.0.1:{port}/", "--rest", "0s",
                      "--load", 'test "$EBB_PORT $EBB_HOST $EBB_URL" = "%d 127.0.0.1 http://127.0.0.1:%d/"'
                      % (port, port), "--", program("server"), str(port), "refuse=3")
    check(result["outcome"] == "complete" and result["ready"]["by"] == "http", f"{result['outcome']}")


def ready_log_across_writes():
    port = free_port()
    outcome = ebb("run", *GLIBC, "--ready-log", "server is up", "--rest", "0s", "--load", "true",
                  "--", program("server"), str(port), "say=the server is up now")
    expect(outcome, code=0, out=r"\Athe server is up now\n")
    expect(outcome, out=r"ready .*\(log server is up\)")


def ready_log_on_stderr():
    outcome = ebb("run", *GLIBC, "--ready-log", "listening", "--rest", "0s", "--load", "true",
                  "--", "sh", "-c", "echo listening >&2; exec sleep 30")
    expect(outcome, code=0, err=r"\Alistening\n\Z")


def ready_timeout():
    began = time.monotonic()
    outcome = ebb("run", *GLIBC, "--ready-tcp", f"127.0.0.1:{free_port()}", "--ready-timeout", "700ms", "--",
                  program("server"), "1", "mute")
    expect(outcome, code=3, err=r"ebb: not ready after .*--ready-timeout", err_lines=1)
    expect(outcome, out=r"^  boot +- ")
    check(time.monotonic() - began < 20, "took too long")


def ready_died_before():
    outcome = ebb("run", *GLIBC, "--ready-tcp", f"127.0.0.1:{free_port()}", "--", "sh", "-c", "exit 7")
    expect(outcome, code=7, err=r"ebb: the command ended before it was ready: exit 7$", err_lines=1)
    outcome = ebb("run", *GLIBC, "--ready-tcp", f"127.0.0.1:{free_port()}", "--", "true")
    expect(outcome, code=3, err=r"ended before it was ready: exit 0$")


def ready_somebody_else_answers():
    port = free_port()
    other = start("run", *GLIBC, "--", program("server"), str(port))
    try:
        import socket
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.05)
        for flag in ["--ready-tcp", f"127.0.0.1:{port}"], ["--ready-http", f"http://127.0.0.1:{port}/x"]:
            expect(ebb("run", *GLIBC, *flag, "--", "true"), code=3, err=r"answers already", err_lines=1)
    finally:
        other.terminate()
        finish(other)


def ready_unknown_host():
    expect(ebb("run", *GLIBC, "--ready-tcp", "no.such.host.invalid:80", "--", "true"), code=3,
           err=r"no\.such\.host\.invalid: the host name cannot be resolved", err_lines=1)


def ready_idle_and_busy():
    result = run_json(*GLIBC, "--rest", "0s", "--load", "true", "--", "sleep", "30")
    check(result["ready"]["by"] == "idle", f"{result['ready']}")
    result = run_json(*GLIBC, "--rest", "0s", "--load", "true", "--", "sh", "-c", "while :; do :; done")
    check(result["ready"]["by"] == "time" and result["ready"]["seconds"] >= 2, f"{result['ready']}")
    expect(ebb("run", *GLIBC, "--rest", "0s", "--load", "true", "--", "sleep", "30"), code=0,
           out=r"idle for 300 ms")


def load_marks():
    port = free_port()
    result = run_json(*GLIBC, "--ready-tcp", f"127.0.0.1:{port}", "--rest", "2s", "--load",
                      f"curl -sf http://127.0.0.1:{port}/hold?40", "--", program("server"), str(port))
    check([m["after_seconds"] for m in result["resting"]] == [1, 2], f"{result['resting']}")
    for mark in [result["load_end"], *result["resting"]]:
        near(mark["bytes"], 42 * MIB, 2 * MIB, "memory that is held")
    check(result["resting"][0]["at_seconds"] - result["load_end"]["at_seconds"] >= 0.99, "the rest began early")
    check(result["load"]["ended"] == {"exit_code": 0, "signal": None}, f"{result['load']}")
    check(result["totals"]["minor_faults"] >= 40 * MIB / 4096, f"{result['totals']}")


def load_fails():
    port = free_port()
    common = [*GLIBC, "--ready-tcp", f"127.0.0.1:{port}", "--load"]
    server = ["--", program("server"), str(port)]
    outcome = expect(ebb("run", *common, "exit 9", *server), code=3, err=r"ebb: the load failed \(exit 9\)", err_lines=1)
    expect(outcome, out=r"^  load .*\(exit 9\)")
    expect(ebb("run", *common, "kill -KILL $$", *server), code=3, err=r"the load failed \(killed by SIGKILL\)")
    expect(ebb("run", *common, "no-such-command-at-all", *server), code=3, err=r"the load failed \(exit 127\)")


def load_kills_the_server():
    port = free_port()
    common = [*GLIBC, "--ready-tcp", f"127.0.0.1:{port}", "--rest", "5s", "--load"]
    outcome = ebb("run", *common, f"curl -s http://127.0.0.1:{port}/; sleep 20", "--", program("server"), str(port),
                  "die=5")
    expect(outcome, code=5, err=r"ebb: the command ended before the measuring did: exit 5", err_lines=1)
    outcome = ebb("run", *common, "kill -KILL $EBB_PID; sleep 20", "--", program("server"), str(port))
    expect(outcome, code=137, err=r"killed by SIGKILL")


def load_is_not_under_the_allocator():
    with temporary() as directory:
        run_json("--allocator", "jemalloc", "--rest", "0s", "--load",
                 f"env > {directory}/env; cat /proc/self/maps > {directory}/maps", "--", "sleep", "30")
        check("LD_PRELOAD" not in open(f"{directory}/env").read(), "the load got LD_PRELOAD")
        check("jemalloc" not in open(f"{directory}/maps").read(), "the load runs on the allocator")


def load_leaves_something_running():
    """It belongs to the load: not measured with the server, and gone afterwards."""
    with temporary() as directory:
        result = run_json(*GLIBC, "--rest", "1s", "--load",
                          f"(setsid {program('touch')} 100 60000 & echo $! > {directory}/pid; sleep 0.3)",
                          "--", "sleep", "30")
        check(result["resting"][0]["processes"] == 1, f"{result['resting']}")
        check(result["peak"]["bytes"] < 10 * MIB, f"peak {result['peak']}")
        check(not os.path.exists(f"/proc/{open(f'{directory}/pid').read().strip()}"), "it is still there")


def load_says_what_it_did():
    work = ["--rest", "0s", "--work", r"served ([0-9,]+)", "--load"]
    result = run_json(*GLIBC, *work, "echo served 5; echo served 1,234 in all >&2", "--", "sleep", "30")
    check(result["load"]["work"] in (5, 1234), f"{result['load']}")
    outcome = expect(ebb("run", *GLIBC, *work, "echo served 5; echo served 6", "--", "sleep", "30"), code=0,
                     out=r"^  work +6  \(")
    expect(outcome, out=r"^served 5$")
    result = run_json(*GLIBC, *work, "echo nothing", "--", "sleep", "30")
    check(result["load"]["work"] is None and any("--work" in note for note in result["notes"]), f"{result['notes']}")
    expect(ebb("run", *GLIBC, *work[:-1], "--", "sleep", "30"), code=2, err=r"give --load as well", err_lines=1)
    expect(ebb("run", "--work", "served [0-9]", "--load", "true", "--", "true"), code=2, err=r"parentheses", err_lines=1)


def load_without_rest_of_five_seconds():
    result = run_json(*GLIBC, "--rest", "0s", "--load", "true", "--", "sleep", "30")
    check(result["resting"] == [] and result["outcome"] == "complete", f"{result['resting']}")


def load_stubborn_server_is_killed():
    port = free_port()
    outcome = ebb("run", *GLIBC, "--ready-tcp", f"127.0.0.1:{port}", "--rest", "0s", "--grace", "500ms", "--load",
                  "true", "--", program("server"), str(port), "stubborn")
    expect(outcome, code=0, out=r"stopped by ebb, killed by SIGKILL \(it outlasted --grace\)")


def load_two_runs_at_once():
    runs = []
    for mib in 30, 60:
        port = free_port()
        runs.append((mib, start("run", "--json", *GLIBC, "--ready-tcp", f"127.0.0.1:{port}", "--rest", "1s", "--load",
                                f"curl -sf http://127.0.0.1:{port}/hold?{mib}", "--", program("server"), str(port))))
    for mib, process in runs:
        result = document(expect(finish(process), code=0))
        near(result["resting"][0]["bytes"], (mib + 1.5) * MIB, 2 * MIB, "resting")
        check(result["totals"]["processes_most"] == 1, "one run saw the other's processes")


# --- the account table


def run_table_sums(result):
    accounts = result["accounts"]
    total = sum(row["bytes"] for row in accounts["rows"])
    check(total == accounts["rss_bytes"] > 0, f"rows make {total} of {accounts['rss_bytes']}")
    return accounts


def load_accounts_at_rest():
    """Under Ebb: who holds the last resting mark, summing up to the byte."""
    port = free_port()
    result = run_json("--ready-tcp", f"127.0.0.1:{port}", "--rest", "2s", "--load",
                      f"curl -sf http://127.0.0.1:{port}/burst?8 && curl -sf http://127.0.0.1:{port}/hold?40",
                      "--", program("server"), str(port))
    accounts = run_table_sums(result)
    check(accounts["mark"] == "rest" and accounts["is_main"] and accounts["processes"] == 1, f"{accounts}")
    rest = result["resting"][-1]
    check(rest["after_seconds"] == 2 and accounts["at_seconds"] >= rest["at_seconds"], f"{accounts['at_seconds']}")
    near(accounts["rss_bytes"], rest["bytes"], MIB, "RSS of the table")
    live = sum(row["bytes"] for row in accounts["rows"] if row["section"] == "live")
    near(live, 40 * MIB, 2 * MIB, "live heap")


def load_accounts_as_text():
    port = free_port()
    outcome = expect(ebb("run", "--ready-tcp", f"127.0.0.1:{port}", "--rest", "2s", "--load",
                         f"curl -sf http://127.0.0.1:{port}/burst?8", "--", program("server"), str(port), "hold=20"),
                     code=0,
                     out=r"^  server \(\d+\), resting 2 s: RSS 2\d\.\d MiB$")
    for line in r"live heap +2\d\.\d", r"held by libebb +\d", r"binary and libraries +\d", r"RSS +2\d\.\d 100\.0$":
        expect(outcome, out=f"^  {line}")
    table = outcome.out[outcome.out.index("live heap"):outcome.out.index("not in RSS")]
    small = [line for line in table.splitlines() if line.startswith("    ") and "smaller" not in line
             and 0 <= float(line[48:58]) < 0.1]
    check(not small and "smaller" in table, f"rows that ought to be summed up: {small}\n{outcome}")


def load_accounts_without_rest():
    """Of the largest process, which is not the one that was started."""
    result = run_json(*GLIBC, "--rest", "0s", "--load", "sleep 1", "--", "sh", "-c",
                      f"{program('touch')} 60 60000; true")
    accounts = run_table_sums(result)
    check(accounts["mark"] == "load-end" and not accounts["is_main"] and accounts["processes"] == 2, f"{accounts}")
    check(accounts["process"] == "touch" and accounts["rss_bytes"] > 60 * MIB, f"{accounts}")
    check("live" not in {row["section"] for row in accounts["rows"]}, "glibc has no live heap to tell of")


def load_accounts_at_work():
    """Never at rest, and no load of ours: the last look while it worked. Looks are rationed by the time they take, so that
    a busy machine may have none but that at boot: once in three times is enough."""
    def accounts():
        return run_table_sums(run_json(*GLIBC, "--", "timeout", "--preserve-status", "-s", "KILL", "4.2", "sh", "-c",
                                       "while :; do :; done", code=137))
    check(any(each["mark"] == "work" and each["at_seconds"] > 2 for each in (accounts() for _ in range(3))),
          "no look at work")


def cost_of_the_tool():
    """At most 3 MB and, sampling a tree of one with many threads' worth of work, far below 1 % of a core."""
    port = free_port()
    result = run_json(*GLIBC, "--ready-http", f"http://127.0.0.1:{port}/", "--rest", "5s", "--load",
                      f"for i in 1 2 3 4 5; do curl -sf http://127.0.0.1:{port}/burst?20 || exit 1; done",
                      "--", program("server"), str(port))
    rss, cpu, total = result["tool"]["peak_rss_bytes"], result["tool"]["cpu_seconds"], result["totals"]["seconds"]
    print(f"      launcher {rss / 1e6:.2f} MB, {cpu:.3f} s of {total:.2f} s = {cpu / total * 100:.2f} % of a core")
    check(0 < rss <= 3_000_000, f"the launcher needed {rss} bytes")
    check(cpu <= 0.02 + total * 0.02, f"{cpu} s of CPU in {total} s")
    if not os.path.exists("/proc/self/smaps_rollup"):
        raise Failed("this kernel has no smaps_rollup")


def cost_the_launcher_maps_few_libraries():
    """Each is 0.05 to 0.3 MB of every launcher: verbs that need more open it themselves, and libm's calls are done without."""
    text = subprocess.run(["ldd", EBB], capture_output=True, text=True, check=True).stdout
    names = {line.split()[0].split("/")[-1].split(".so")[0] for line in text.splitlines()}
    check(names <= {"linux-vdso", "libjansson", "libz", "libc", "ld-linux-x86-64", "ld-linux-aarch64"}, f"{text}")
