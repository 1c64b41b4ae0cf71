"""The command line of scripts/bench-placement: how many pages survivors lie on."""

import argparse
import os
import pathlib
import sys

from . import peers, runner, stats, tables
from .catalogue import Program

ROOT = pathlib.Path(__file__).resolve().parents[3]

PROGRAMS = [
    Program("rest", "random", ("placement", "random"), "any object survives"),
    Program("rest", "time", ("placement", "time"), "stretches of 1000 objects survive"),
    Program("rest", "site", ("placement", "site"), "the objects of two call sites of forty survive"),
    Program("rest", "falling", ("placement", "falling"), "the table shrinks to a tenth while work goes on"),
    Program("rest", "a-cycles", ("cycles",), "resting workload (a)"),
    Program("rest", "e-sparse", ("sparse",), "resting workload (e)"),
    Program("rest", "f-runs", ("runs",), "resting workload (f)"),
]


def parse(argv):
    p = argparse.ArgumentParser(
        prog="scripts/bench-placement",
        description="Counts the 4 KiB pages that hold a byte of a surviving object: what no allocator that does not "
        "move objects can give back. Prints MiB and the ratio to the live bytes, medians with ranges.",
    )
    p.add_argument("--peers", metavar="LIST", default=",".join(peers.DEFAULT), help="default: %(default)s")
    p.add_argument("--peer", metavar="NAME=PATH", action="append", default=[], help="another library to compare")
    p.add_argument("--rounds", type=int, default=3, help="default: %(default)s")
    p.add_argument("--build", default=str(ROOT / "build" / "release"), help="build directory (build/release)")
    p.add_argument("--ebb", default=str(ROOT / "build" / "lib" / "libebb.so"), help="libebb.so to measure")
    return p.parse_args(argv)


def measure(bench_dir, who, rounds):
    """Sleeping runs overlap; nothing here is a time."""
    pool, results = runner.RestingPool(4), {}

    def job_of(program, peer):
        def job(asleep):
            result = runner.run(bench_dir, peer, program, [], on_asleep=asleep)
            results.setdefault(program.name, {}).setdefault(peer.name, []).append(result)

        return job

    for _ in range(rounds):
        for program in PROGRAMS:
            for peer in who:
                pool.start(job_of(program, peer))
    pool.finish()
    return results


def cell(runs):
    pages = stats.summary([run["pages_kib"] for run in runs])
    live = stats.summary([run["live_kib"] for run in runs])
    return f"{tables.spread(pages, 1024, 1)} x{pages['median'] / live['median']:.1f}"


def render(results, who):
    names = [peer.name for peer in who]
    rows = []
    for program in PROGRAMS:
        runs = results[program.name]
        live = stats.summary([run["live_kib"] for run in runs[names[0]]])["median"] / 1024
        rows.append([program.name, f"{live:.1f}"] + [cell(runs[name]) for name in names])
    return tables.table(["pages MiB (range) x live", "live MiB", *names], rows)


def main(argv):
    args = parse(argv)
    try:
        who = peers.collect([name for name in args.peers.split(",") if name], args.peer, [], ROOT, args.ebb)
        results = measure(os.path.join(args.build, "bench"), who, args.rounds)
    except (peers.MissingPeer, runner.RunFailed) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    print(render(results, who))
    return 0
