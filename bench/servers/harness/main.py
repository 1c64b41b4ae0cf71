"""What `make bench-servers` runs: real servers under several allocators, alternating fresh processes.

Each round starts every server once under each allocator, fresh, sends it the same work, lets it rest and stops
it; `ebb run` measures the whole tree of processes. The load checks every answer. Prints a table per server:
medians with (min-max) in MiB, CPU seconds of load and rest together.
"""

import argparse
import os
import pathlib
import platform
import re
import signal
import subprocess
import sys
import time

from harness import runner, servers, tables, variants

ROOT = pathlib.Path(__file__).resolve().parents[3]


def arguments(words):
    parser = argparse.ArgumentParser(
        prog="scripts/bench-servers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", metavar="REGEX", help="servers whose whole name matches")
    parser.add_argument("--all", action="store_true", help="also the servers that are left out by default")
    parser.add_argument("--rounds", type=int, default=2, metavar="N", help="rounds (2)")
    parser.add_argument("--under", metavar="LIST", help=f"allocators: {', '.join(variants.EVERY)}; NAME=LIBRARY[:EBB_CONF]")
    parser.add_argument("--rest", type=int, default=5, metavar="SECONDS", help="how long a server rests (5)")
    parser.add_argument("--build", default=ROOT / "build", metavar="DIR", help="whose bin/ebb and lib/libebb.so (build)")
    parser.add_argument("--keep", metavar="DIR", help="where results and logs go (servers in the build)")
    parser.add_argument("--list", action="store_true", help="print the servers' names")
    options = parser.parse_args(words)
    try:
        options.under = variants.parse(options.under or ",".join(variants.DEFAULT))
        options.servers = [
            server
            for name, server in servers.EVERY.items()
            if (re.fullmatch(options.only, name) if options.only else options.all or name in servers.DEFAULT)
        ]
    except (ValueError, re.error) as error:
        parser.error(str(error))
    if not options.servers:
        parser.error(f"--only matches none of {', '.join(servers.EVERY)}")
    if options.rounds < 1 or options.rest < 1:
        parser.error("--rounds and --rest are at least 1")
    return options


def version_of(package):
    shown = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True, check=False
    )
    return f"{package} {shown.stdout}" if shown.returncode == 0 else package


def facts(options):
    commit = subprocess.run(
        ["git", "-C", str(ROOT), "describe", "--always", "--dirty"], capture_output=True, text=True, check=False
    ).stdout.strip()
    packages = dict.fromkeys(
        [package for server in options.servers for package in server.packages]
        + [variant.package for variant in options.under if variant.package]
    )
    thp = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")
    setting = re.search(r"\[(\w+)\]", thp.read_text()).group(1) if thp.exists() else "unknown"
    return (
        f"{time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC; {os.cpu_count()} CPUs, kernel {platform.release()}, "
        f"transparent huge pages {setting}, load {os.getloadavg()[0]:.1f}; ebb git {commit}; "
        + ", ".join(version_of(package) for package in packages)
    )


def main(words):
    options = arguments(words)
    if options.list:
        print("\n".join(servers.EVERY))
        return 0
    build = pathlib.Path(options.build)
    if not os.access(build / "bin/ebb", os.X_OK):
        print(f"bench-servers: {build}/bin/ebb is missing: build it first (make)", file=sys.stderr)
        return 1
    work = runner.Runner(build, options.keep or build / "servers", options.rest)

    def interrupted(number, _):
        sys.exit(128 + number)

    signal.signal(signal.SIGINT, interrupted)
    signal.signal(signal.SIGTERM, interrupted)
    print(facts(options))
    failed = 0
    for server in options.servers:
        failed += one_server(server, options, work)
    return 1 if failed else 0


def one_server(server, options, work):
    """All rounds of one server and its table. How many runs failed."""
    try:
        server.check(work.cache)
    except servers.CannotRun as error:
        print(f"bench-servers: {error}", file=sys.stderr)
        return 1
    runs = {variant.name: [] for variant in options.under}
    failed = 0
    number = 0
    for turn in range(options.rounds):
        # Each round begins with another allocator, so that none always runs first.
        order = options.under[turn % len(options.under) :] + options.under[: turn % len(options.under)]
        for variant in order:
            number += 1
            try:
                result, _ = work.measure(server, variant, number)
            except runner.Failed as error:
                failed += 1
                print(f"bench-servers: {error}", file=sys.stderr)
                continue
            run = tables.figures(result)
            runs[variant.name].append(run)
            print(
                "bench-servers: {} under {}: boot {boot:.1f}, peak {peak:.1f}, idle {idle:.1f} MiB; CPU {cpu:.2f} s".format(
                    server.name, variant.name, **run
                ),
                file=sys.stderr,
            )
    runs = {name: those for name, those in runs.items() if those}
    print(f"\n#### {server.name}\n\n{tables.table(runs)}\n\n{tables.judgement(runs)}", flush=True)
    return failed
