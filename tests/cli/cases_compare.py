"""compare: variants in turn, what is concluded from them, what is refused."""

import json
import os
import signal
import time

from lib import MIB, check, document, ebb, expect, finish, free_port, near, program, start, temporary

QUICK = ["--rest", "0s"]


def small_and_big(*more, runs="4"):
    return ["compare", "--runs", runs, "--variant-command", f"small={program('touch')} 8 20", "--variant-command",
            f"big={program('touch')} 40 20", *more]


def conclusion(result, phase, generation=0):
    return result["comparison"]["conclusions"][generation]["phases"][phase]


def compare_two_commands():
    result = document(expect(ebb(*small_and_big("--json")), code=0, err_lines=0))
    check(result["schema"] == "ebb.compare/1" and not result["interrupted"], f"{result['schema']}")
    check([run["label"] for run in result["runs"]] == ["small", "big"] * 4, "they do not alternate")
    check(all(run["schema"] == "ebb.run/1" for run in result["runs"]), "not whole runs")
    peak = conclusion(result, "peak")
    check(peak["verdict"] == "lowest" and peak["lowest"] == "small" and peak["next"] == "big", f"{peak}")
    near(peak["difference"], 32 * MIB, 2 * MIB, "difference of the peaks")
    check(abs(peak["chance"] - 2 / 70) < 1e-6, f"{peak['chance']}")
    series = result["comparison"]["groups"][1]["peak_bytes"]
    check(series["cliffs_delta"] == 1 and len(series["values"]) == 4, f"{series}")


def compare_table():
    outcome = expect(ebb(*small_and_big(runs="2")), code=0, err_lines=0)
    expect(outcome, out=r"^2 runs each of small, big; change, shift and effect are against small$")
    expect(outcome, out=r"^  peak +small +\d+\.\d MiB +\d+\.\d \.\. \d+\.\d$")
    expect(outcome, out=r"^ +big +4\d\.\d MiB +\d+\.\d \.\. \d+\.\d +\+\d+ % +\+3\d\.\d MiB +\+1\.00$")
    expect(outcome, out=r"^lowest: .*peak small \(-\d+ %\)")
    expect(outcome, out=r"^peak +small is lowest, 3\d\.\d MiB \(\d+ %\) below big \(ranges apart, but of 2")
    expect(outcome, out=r"^note +All of them run on glibc's malloc, ")
    check(max(map(len, outcome.out.splitlines())) <= 80, f"{outcome}")
    expect(ebb(*small_and_big("--bytes", runs="2")), code=0, out=r"^ +big +4\d{7} ")


def compare_the_same():
    result = document(expect(ebb("compare", "--json", "--runs", "4", "--variant", "a", "--variant", "b:X=1", "--",
                                 program("touch"), "24", "20"), code=0))
    check(conclusion(result, "peak")["verdict"] == "same", f"{conclusion(result, 'peak')}")


def compare_environments():
    script = 'test "$EBB_TEST_A" = "1,2" && test "$EBB_TEST_B" = x'
    result = document(ebb("compare", "--json", "--runs", "1", "--variant", "one:EBB_TEST_A=1,2,EBB_TEST_B=x", "--variant",
                          "two:glibc,EBB_TEST_B=x,EBB_TEST_A=1,2", "--", "sh", "-c", script))
    check([run["ended"]["exit_code"] for run in result["runs"]] == [0, 0], f"{result['comparison']['problems']}")
    check(result["variants"][0]["environment"] == {"EBB_TEST_A": "1,2", "EBB_TEST_B": "x"}, f"{result['variants']}")
    check("EBB_TEST_A" not in os.environ, "the test's own environment")


def compare_usage():
    for arguments, line in (
        (["--", "true"][1:0], r"no command: ebb compare"),
        (["--allocators", "glibc", "--", "true"], r"one variant \(glibc\) is nothing to compare"),
        (["--allocators", "glibc,glibc", "--", "true"], r"two variants are named 'glibc'"),
        (["--allocators", "glibc,nosuch", "--", "true"], r"unknown allocator 'nosuch'"),
        (["--variant", "a", "--variant", "b:glibc,=3", "--", "true"], r"'=3' is no VARIABLE=VALUE"),
        (["--variant", ":X=1", "--variant", "b", "--", "true"], r"a variant's name has 1 to 63"),
        (["--variant-command", "a", "--", "true"], r"write NAME=COMMAND"),
        (["--variant-command", "a=x | y", "--", "true"], r"what needs a shell goes into a script"),
        (["--variant-command", "a='x", "--", "true"], r"a quote that does not end"),
        (["--variant-command", "a=", "--", "true"], r"is empty"),
        (["--runs", "0", "--", "true"], r"--runs '0': a number from 1 to 100"),
        (["--runs", "5x", "--", "true"], r"--runs '5x'"),
        (["--work", "a", "--", "true"], r"give --load as well"),
        (["--evict", "/tmp", "--", "true"], r"give --then as well"),
        (["--ready-tcp", "x:1", "--ready-log", "y", "--", "true"], r"exclude each other"),
        (["--save", "/no/such/directory/x", "--allocators", "glibc,ebb", "--", "true"], r"--save /no/such"),
    ):
        expect(ebb("compare", *arguments), code=2, err=line, err_lines=1)


def compare_a_command_that_is_not_there():
    expect(ebb("compare", "--variant", "a", "--variant", "b", "--", "/no/such/command"), code=127, err=r"/no/such/command",
           err_lines=1)


def compare_servers_without_a_load():
    """They are stopped after their rest."""
    port = free_port()
    result = document(expect(ebb("compare", "--json", "--runs", "1", "--variant", "a", "--variant", "b", "--rest", "100ms",
                                 "--ready-tcp", f"127.0.0.1:{port}", "--", program("server"), str(port), "hold=20"), code=0))
    for run in result["runs"]:
        check(run["outcome"] == "complete", f"{run['outcome']}")
        near(run["resting"][0]["bytes"], 21.5 * MIB, 2 * MIB, "resting memory")


def compare_different_work():
    with temporary() as directory:
        arguments = ["compare", *QUICK, "--runs", "2", "--variant", "a", "--variant", "b", "--before",
                     f"[ $EBB_VARIANT = a ] && echo 100 > {directory}/n || echo 90 > {directory}/n", "--load",
                     f"echo served $(cat {directory}/n)", "--work", "served ([0-9]+)", "--", "sleep", "30"]
        outcome = expect(ebb(*arguments), code=4, out=r"^not comparable: the runs served from 90 to 100")
        expect(outcome, out=r"^  work +a +100 ")


def compare_failed_commands():
    """What failed is compared with nothing, however alike its figures are."""
    outcome = expect(ebb("compare", "--variant", "a:X=1", "--variant", "b:X=2", "--runs", "2", "--", "sh", "-c", "test $X = 1"),
                     code=4, out=r"^problem: run 2 \(b\): the command failed \(exit 1\)", err=r"b: the command failed \(exit 1\)")
    check("no difference" not in outcome.out, outcome.out)


def compare_failed_load():
    arguments = ["compare", *QUICK, "--variant", "a", "--variant", "b", "--load",
                 "echo it broke; [ $EBB_TEST = 1 ]", "--", "sleep", "30"]
    outcome = expect(ebb(*arguments), code=4, err=r"^ebb: a: the load failed \(exit [12]\).*Its last lines:$")
    expect(outcome, err=r"^it broke$")
    result = document(ebb(*arguments[:1], "--json", *arguments[1:]))
    check([group["failed"] for group in result["comparison"]["groups"]] == [1, 1], "a failed run was not the last")


def compare_where_the_library_is_not_taken():
    outcome = ebb("compare", "--allocators", "glibc,ebb", "--runs", "2", "--", program("touch-static"), "8", "300")
    expect(outcome, code=4, err=r"^ebb: ebb: libebb\.so is not in the command: ")
    expect(outcome, out=r"^problem: run \d \(ebb\): the allocator was not in the command \(static\)")


def compare_interrupted():
    """What was measured until then is printed and saved; nothing is left running."""
    with temporary() as directory:
        path = f"{directory}/x.json"
        process = start("compare", *QUICK, "--variant", "a", "--variant", "b", "--save", path, "--load",
                        f"echo $EBB_PID > {directory}/pid; [ -e {directory}/second ] && sleep 30; touch {directory}/second",
                        "--", "sleep", "60")
        for _ in range(200):
            if os.path.exists(f"{directory}/second"):
                break
            time.sleep(0.05)
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        outcome = finish(process)
        expect(outcome, code=130, out=r"^interrupted: 1 of 10 runs$")
        result = json.load(open(path))
        check(result["interrupted"] and len(result["runs"]) == 1, f"{len(result['runs'])} runs")
        pid = open(f"{directory}/pid").read().strip()
        check(not os.path.exists(f"/proc/{pid}"), "the command is still there")


def compare_generations():
    """fresh, reopened, of each variant in turn; tables of their own; hooks at their places."""
    with temporary() as directory:
        data, log = f"{directory}/data", f"{directory}/log"
        arguments = ["compare", *QUICK, "--runs", "2", "--variant", "a", "--variant", "b", "--before",
                     f"echo before $EBB_VARIANT >> {log}; rm -rf {data}; mkdir {data}", "--load",
                     f"echo load >> {log}; head -c 100000 /dev/zero > {data}/x", "--then",
                     f"echo then >> {log}; test -s {data}/x", "--evict", data, "--between", f"echo between >> {log}"]
        result = document(expect(ebb(*arguments, "--json", "--", "sleep", "30"), code=0))
        check([(run["label"], run["generation"]) for run in result["runs"]] ==
              [("a", "fresh"), ("a", "reopened"), ("b", "fresh"), ("b", "reopened")] * 2, "another order")
        lines = open(log).read().split("\n")
        check(lines[:8] == ["before a", "load", "between", "then", "before b", "load", "between", "then"], f"{lines}")
        groups = result["comparison"]["groups"]
        check([(group["label"], group["generation"], group["runs"]) for group in groups] ==
              [("a", "fresh", 2), ("a", "reopened", 2), ("b", "fresh", 2), ("b", "reopened", 2)], f"{groups}")
        check(len(result["comparison"]["conclusions"]) == 2, "one conclusion for both generations")
        arguments[arguments.index("2")] = "1"
        outcome = ebb(*arguments, "--", "sleep", "30")
        expect(outcome, out=r"^fresh: 1 run each of a, b")
        expect(outcome, out=r"^reopened: 1 run each of a, b")
        expect(ebb(*arguments, "--before", "exit 3", "--", "sleep", "30"), code=3, err=r"--before failed \(exit 3\)",
               err_lines=1)


def compare_generations_of_two_commands():
    """Without a load, the second generation is another command."""
    result = document(ebb("compare", "--json", "--runs", "1", "--variant", "a", "--variant", "b", "--then",
                          f"{program('touch')} 40", "--", program("touch"), "8"))
    near(result["runs"][0]["peak"]["bytes"], 9.5 * MIB, 3 * MIB, "peak of the first command")
    near(result["runs"][1]["peak"]["bytes"], 41.5 * MIB, 3 * MIB, "peak of the second command")
