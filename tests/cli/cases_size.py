"""size: a server whose habits are known, loaded at a constant rate: what is counted, what counts, where it stops."""

import json
import os

from lib import MIB, check, document, ebb, expect, free_port, program, temporary

BASE = ["--allocator", "glibc", "--rest", "0", "--patience", "300ms"]


def sized(*arguments, habits=(), code=0, seconds="300ms", more=(), env=None):
    """The document of one `ebb size`."""
    port = str(free_port())
    outcome = ebb("size", "--json", *BASE, "--seconds", seconds, "--ready-tcp", f"127.0.0.1:{port}", *arguments, *more,
                  "--", program("web"), port, *habits, env=env)
    expect(outcome, code=code)
    result = document(outcome)
    for row in result["rows"]:
        accounted = row["served"] + row["refused"] + row["errors"]
        check(row["offered"] == accounted if row["complete"] else row["offered"] >= accounted, f"requests went missing: {row}")
        check(row["errors"] == sum(row["errors_by_kind"].values()), f"errors went missing: {row}")
        check(row["verdict"] == "served" or row["box_bytes"] is None, f"a row that was not served fits a box: {row}")
    return result


def one(*habits, code=0, rate="200", **more):
    """The only row."""
    return sized("--rates", rate, "--steps", "0", habits=habits, code=code, **more)["rows"][0]


def size_counts_what_it_sends():
    result = sized("--rates", "400,200", "--steps", "0")
    check(result["schema"] == "ebb.size/1" and result["machine"]["cpus"] > 0, "the document is not complete")
    check([row["rate"] for row in result["rows"]] == [200, 400], f"rates {result['rows']}")
    for row in result["rows"]:
        check(row["offered"] == row["rate"] * 3 // 10 == row["served"], f"{row['rate']}: {row}")
        check(row["run"]["schema"] == "ebb.run/1" and row["run"]["peak"]["bytes"] > 0, "the run is missing")
        check(row["generator"]["connections_open"] == row["generator"]["connections_opened"] == 64, f"{row}")
        check(row["peak_upper_bytes"] >= row["run"]["peak"]["bytes"], "the bound of the peak is missing")
    check(result["series"] == [{"first_row": 0, "rows": 2, "event_bytes": None, "connections": 64, "sweep": None,
                                "served_rate": 400, "beyond_rate": None, "beyond_verdict": None}], f"{result['series']}")


def size_sees_a_stall():
    """Half a second in which nothing is served: half of all requests wait for it. A generator that waits with the server would
    send 64 requests in that time, and see them as the slowest 64 of 700."""
    row = one("stall=100:500", rate="1000", seconds="1s", code=4, more=["--patience", "5s"])
    latency = row["latency"]
    check(row["served"] == row["offered"] == 1000, f"{row}")
    check(latency["max_seconds"] >= 0.49 and latency["p99_seconds"] >= 0.45, f"the stall is not seen: {latency}")
    check(latency["p90_seconds"] >= 0.3, f"only some of those who waited are seen: {latency}")
    check(row["verdict"] in ("late", "machine"), f"{row['verdict']}")


def size_refused_apart():
    row = one("refuse=20", code=4)
    check(row["refused"] > 0 and row["errors"] == 0, f"{row}")
    check(row["verdict"] in ("refused", "machine"), f"{row['verdict']}")
    check(row["refusal_latency"]["count"] == row["refused"], "latencies of refusals are not apart")
    row = one("bare=20", code=4)
    check(row["refused"] == 0 and row["errors_by_status"].get("503", 0) > 0, f"a 503 without Retry-After: {row}")
    check("mostly 503" in row["reason"], f"{row['reason']}")


def size_habits_that_serve():
    for habit in "chunked", "until-close", "interim", "close=3":
        row = one(habit)
        check(row["served"] == row["offered"] == 60, f"{habit}: {row}")
        if habit in ("until-close", "close=3"):
            check(row["generator"]["connections_opened"] > 64, f"{habit}: never opened anew")


def size_habits_that_do_not():
    for habit, kind, words in [
        ("garbage", "malformed", "an answer was no HTTP/1"),
        ("double", "malformed", "more came than one answer"),
        ("giant", "malformed", "head had more than 80 KiB"),
        ("dead", "timeout", "not answered in time"),
        ("drop=2", "broken", "cut off before an answer"),
        ("status=404", "status", "mostly 404"),
    ]:
        row = one(habit, code=4)
        check(row["errors_by_kind"][kind] > 0 and words in row["reason"], f"{habit}: {row}")
        # Nobody answers the dead one's requests: whose fault that is, a busy machine may leave open.
        check(row["verdict"] in ("not-served", "machine")[: 2 if habit == "dead" else 1], f"{habit}: {row['verdict']}")


def size_early_answer():
    """Answered and closed before the body was read: a refusal, not an error, as far as it reached us."""
    row = one("early", code=4, more=["--event-bytes", "64K"])
    check(row["served"] == 0 and row["refused"] + row["errors_by_kind"]["broken"] > 0, f"{row}")


def size_server_dies():
    row = one("die=20", code=4)
    check(row["verdict"] == "died" and not row["complete"] and "exit 7" in row["reason"], f"{row['reason']}")


def size_finds_the_knee():
    """One request a millisecond at the most."""
    result = sized("--rates", "100,20000", "--steps", "1", habits=["sleep=1000"], seconds="500ms",
                  more=["--patience", "2s"])
    rates = [row["rate"] for row in result["rows"]]
    series = result["series"][0]
    check(rates == [100, 10000, 20000], f"tried {rates}")
    check([row["knee"] for row in result["rows"]] == [True, False, False], "the knee is not marked")
    check(series["served_rate"] == 100 and series["beyond_rate"] == 10000, f"{series}")
    check(result["rows"][2]["served_per_second"] < 1100, "more than the server can do")


def size_sweeps_a_variable():
    result = sized("--rates", "300", "--sweep", "KEEP=1,100000", "--box", "1M,1G")
    small, large = [row["run"]["peak"]["bytes"] for row in result["rows"]]
    check(large - small > 7 * MIB, f"90 requests kept 100 kB each: {small}, {large}")
    check([series["sweep"] for series in result["series"]] == ["1", "100000"], f"{result['series']}")
    check(result["rows"][1]["box_bytes"] == 1 << 30, "9 MB in a box of 1M")


def size_requests_from_a_file():
    with temporary() as directory:
        path = os.path.join(directory, "r.http")
        with open(path, "w") as file:
            file.write("# two\nPOST /a\n\n{\"n\":{seq},\"p\":\"{fill}\"}\n---\nGET /b\n")
        result = sized("--rates", "200", "--requests", path, "--event-bytes", "100,4K", "--connections", "4,8")
        check([(row["event_bytes"], row["connections"]) for row in result["rows"]] ==
              [(100, 4), (100, 8), (4096, 4), (4096, 8)], f"{result['rows']}")
        check(all(row["served"] == 60 for row in result["rows"]), "not all served")
        with open(path, "w") as file:
            file.write("GET /\n---\nPOST nowhere\n")
        expect(ebb("size", "--rates", "1", "--requests", path, "--url", "http://127.0.0.1:1/", "true"), code=2,
               err=r"r\.http:3: a request begins with a method and a path", err_lines=1)
        with open(path, "w") as file:
            file.write("GET /\n")
        expect(ebb("size", "--rates", "1", "--requests", path, "--event-bytes", "1K", "--url", "http://127.0.0.1:1/",
                   "true"), code=2, err=r"no body has a \{fill\}", err_lines=1)


def size_for_people():
    with temporary() as directory:
        port, path = str(free_port()), os.path.join(directory, "out.json")
        outcome = ebb("size", "--rates", "100,200", "--seconds", "300ms", *BASE, "--save", path, "--ready-tcp",
                      f"127.0.0.1:{port}", "--", program("web"), port)
        expect(outcome, code=0, err_lines=0, out=r"^offered +served +refused")
        expect(outcome, out=r"^ +100 +100 +0 % +0 % +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ +- +[\d.]+ 256M$")
        expect(outcome, out=r"^Serves 200 requests/s, the highest rate that was tried: the knee lies beyond\.$")
        expect(outcome, out=r"^  a machine of 256M \(128\.0 MiB for the process\): 200 requests/s$")
        check(all(len(line) <= 80 for line in outcome.out.splitlines()[2:]), f"wider than 80\n{outcome}")
        with open(path) as file:
            check(json.load(file)["schema"] == "ebb.size/1", "the saved document")


def size_usage():
    for arguments, line in [
        (["true"], r"^ebb: no --rates: .* such as --rates 1k,2k"),
        (["--rates", "5k"], r"^ebb: no command: ebb size"),
        (["--rates", "0", "true"], r"--rates: '0': requests a second, from 1 to 1M"),
        (["--rates", "5k,,6k", "true"], r"--rates '5k,,6k': write 1 to 64 values"),
        (["--rates", "5q", "true"], r"--rates: '5q'"),
        (["--rates", "1", "--box", "7", "true"], r"--box: '7': a size of 1M and more"),
        (["--rates", "1", "--share", "0%", "true"], r"--share '0%': write 1% to 100%"),
        (["--rates", "1", "--share", "50", "true"], r"--share '50': write 1% to 100%"),
        (["--rates", "1", "--sweep", "X", "true"], r"--sweep 'X': write VARIABLE=VALUE"),
        (["--rates", "1", "--connections", "0", "true"], r"--connections: '0': a number from 1 to 20000"),
        (["--rates", "1", "--steps", "11", "true"], r"--steps '11': write a number from 0 to 10"),
        (["--rates", "1", "--seconds", "1ms", "true"], r"--seconds: write a time from 100ms"),
        (["--rates", "1", "--patience", "100ms", "true"], r"--patience: 10ms at least, and not less than --late"),
        (["--rates", "1", "true"], r"where are the requests to go\? give --ready-http URL"),
        (["--rates", "1", "--url", "https://x/", "true"], r"sent to http://HOST:PORT/PATH only"),
        (["--rates", "1", "--url", "http://x:99999/", "true"], r"--url http://x:99999/: "),
        (["--rates", "1", "--ready-tcp", ":1", "--ready-log", "x", "true"], r"exclude each other"),
        (["--rates", "1", "--url", "http://x/", "--requests", "/nowhere", "true"], r"^ebb: /nowhere: No such file"),
        (["--rates", "1", "--url", "http://x/", "--save", "/nowhere/x", "true"], r"--save /nowhere/x: No such file"),
    ]:
        expect(ebb("size", *arguments), code=2, err=line, err_lines=1)


def size_nobody_to_load():
    port, other = str(free_port()), str(free_port())
    outcome = ebb("size", "--rates", "1", *BASE, "--ready-tcp", f":{port}", "--url", f"http://127.0.0.1:{other}/", "--",
                  program("web"), port)
    expect(outcome, code=3, err=rf"^ebb: 127\.0\.0\.1:{other}: cannot connect: Connection refused$", err_lines=1)
    expect(ebb("size", "--rates", "1", *BASE, "--ready-tcp", f":{port}", "--ready-timeout", "200ms", "--", "sleep", "9"),
           code=3, err=r"not ready after")
    expect(ebb("size", "--rates", "1", *BASE, "--ready-tcp", f":{port}", "--", "/nowhere/x"), code=127, err_lines=1)
