"""The command line of scripts/bench."""

import argparse
import concurrent.futures
import json
import os
import pathlib
import sys
import time

from . import catalogue, facts, joining, peers, runner, tables

ROOT = pathlib.Path(__file__).resolve().parents[3]
FULL = {"rounds": 5, "rest_rounds": 3, "life_rounds": 1, "rest": None, "options": [], "scale": "1", "minutes": 13.5}
QUICK = {
    "rounds": 3,
    "rest_rounds": 1,
    "life_rounds": 0,
    "rest": "^[ag]-",
    "options": ["--quick"],
    "scale": "quick",
    "minutes": 1.8,
}


def parse(argv):
    p = argparse.ArgumentParser(
        prog="scripts/bench",
        description="Runs the allocator benchmarks under Ebb and its peers, alternating, and prints medians with ranges.",
    )
    p.add_argument("--quick", action="store_true", help="short runs, resting workloads (a) and (g) only: under 2 minutes")
    p.add_argument("--only", metavar="REGEX", help="only programs whose name matches")
    p.add_argument("--kind", choices=["speed", "rest", "life"], help="only one kind of program")
    p.add_argument("--peers", metavar="LIST", default=",".join(peers.DEFAULT), help="default: %(default)s")
    p.add_argument("--peer", metavar="NAME=PATH", action="append", default=[], help="another library to compare")
    p.add_argument("--peer-env", metavar="PEER:VAR=VALUE", action="append", default=[], help="a setting of a peer")
    p.add_argument("--baseline", default="mimalloc", help="the peer that ratios are made with (default: %(default)s)")
    p.add_argument("--rounds", type=int, help="speed rounds (5, quick: 3)")
    p.add_argument("--rest-rounds", type=int, help="resting rounds (3, quick: 1)")
    p.add_argument("--life-rounds", type=int, help="rounds of the hour (1, quick: 0)")
    p.add_argument("--minutes", type=float, help="start no further round when it would not fit (13.5, quick: 1.8)")
    p.add_argument("--build", default=str(ROOT / "build" / "release"), help="build directory (build/release)")
    p.add_argument("--ebb", default=str(ROOT / "build" / "lib" / "libebb.so"), help="libebb.so to measure")
    p.add_argument("--out", default=str(ROOT / "build" / "bench"), help="where results go (build/bench)")
    p.add_argument("--publish", action="store_true", help="put the tables into docs/benchmarks.md")
    p.add_argument(
        "--render",
        metavar="RESULTS",
        nargs="+",
        help="run nothing, print (and publish) saved results; several are joined",
    )
    p.add_argument("--list", action="store_true", help="list the programs")
    return p.parse_args(argv)


def plan(args):
    chosen = dict(QUICK if args.quick else FULL)
    chosen["rounds"] = chosen["rounds"] if args.rounds is None else args.rounds
    chosen["rest_rounds"] = chosen["rest_rounds"] if args.rest_rounds is None else args.rest_rounds
    chosen["minutes"] = chosen["minutes"] if args.minutes is None else args.minutes
    chosen["life_rounds"] = chosen["life_rounds"] if args.life_rounds is None else args.life_rounds
    for kind in ("speed", "rest", "life"):
        wanted = args.kind in (None, kind)
        chosen[kind + "_programs"] = catalogue.select(kind, args.only or chosen.get(kind)) if wanted else []
    return chosen


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def rotated(items, by):
    by %= len(items)
    return items[by:] + items[:by]


def speed_round(bench_dir, who, programs, options, number, results):
    for program in programs:
        for peer in rotated(who, number):
            progress(f"speed round {number + 1}: {program.name} under {peer.name}")
            result = runner.run(bench_dir, peer, program, options)
            results.setdefault(program.name, {}).setdefault(peer.name, []).append(result)


def run_speed(bench_dir, who, chosen, deadline, results):
    """Rounds outside, programs inside, peers innermost: A B C A B C. Returns the rounds made."""
    for number in range(chosen["rounds"]):
        began = time.monotonic()
        speed_round(bench_dir, who, chosen["speed_programs"], chosen["options"], number, results)
        if time.monotonic() + (time.monotonic() - began) > deadline:
            return number + 1
    return chosen["rounds"]


def run_rest(bench_dir, who, chosen, results):
    # The largest of them peaks below 1.5 GiB under every allocator we know.
    width = max(1, min(6, facts.memory_available_kib() // (1536 * 1024)))
    pool = runner.RestingPool(width)

    def job_of(program, peer):
        def job(asleep):
            result = runner.run(bench_dir, peer, program, [], on_asleep=asleep)
            results.setdefault(program.name, {}).setdefault(peer.name, []).append(result)

        return job

    for number in range(chosen["rest_rounds"]):
        for program in chosen["rest_programs"]:
            for peer in rotated(who, number):
                progress(f"resting round {number + 1}: {program.name} under {peer.name}")
                pool.start(job_of(program, peer))
    pool.finish()
    return chosen["rest_rounds"]


def run_life(bench_dir, who, chosen, results):
    """All peers at the same time: each works for some 6 % of a CPU and sleeps in between."""
    for number in range(chosen["life_rounds"]):
        for program in chosen["life_programs"]:
            progress(f"life round {number + 1}: {program.name} under all peers, a minute")
            with concurrent.futures.ThreadPoolExecutor(len(who)) as pool:
                runs = {
                    peer.name: pool.submit(runner.run, bench_dir, peer, program, [], seconds=300)
                    for peer in rotated(who, number)
                }
            for name, run in runs.items():
                results.setdefault(program.name, {}).setdefault(name, []).append(run.result())
    return chosen["life_rounds"] if chosen["life_programs"] else 0


def measure(args, who, chosen):
    bench_dir = os.path.join(args.build, "bench")
    if not os.path.exists(os.path.join(bench_dir, "launch")):
        raise peers.MissingPeer(f"no benchmark programs in {bench_dir}; run `make` first")
    doc = {
        "schema": 1,
        "facts": facts.collect(),
        "command": "scripts/bench " + " ".join(shown_arguments(sys.argv[1:])),
        "baseline": args.baseline,
        "scale": chosen["scale"],
        "peers": [peer.describe() for peer in who],
        "programs": [vars(program) for program in catalogue.read()],
        "speed": {},
        "rest": {},
        "life": {},
        "rounds": {"speed": 0, "rest": 0, "life": 0},
    }
    start = time.monotonic()
    if chosen["rest_programs"]:
        doc["rounds"]["rest"] = run_rest(bench_dir, who, chosen, doc["rest"])
    doc["rounds"]["life"] = run_life(bench_dir, who, chosen, doc["life"])
    if chosen["speed_programs"]:
        deadline = start + chosen["minutes"] * 60
        doc["rounds"]["speed"] = run_speed(bench_dir, who, chosen, deadline, doc["speed"])
    doc["minutes"] = round((time.monotonic() - start) / 60, 1)
    progress("")
    return doc


def shown_arguments(argv):
    """The command as others can use it: directories of this machine are left out."""
    shown = []
    for argument in argv:
        head, equals, path = argument.partition("=")
        if equals and path.startswith("/"):
            shown.append(f"{head}={os.path.basename(path)}")
        else:
            shown.append(os.path.basename(argument) if argument.startswith("/") else argument)
    return [argument for argument in shown if argument != "--publish"]


def publish(body):
    path = ROOT / "docs" / "benchmarks.md"
    path.write_text(tables.replace_between(path.read_text(), body))


def save(doc, body, out):
    os.makedirs(out, exist_ok=True)
    pathlib.Path(out, "results.json").write_text(json.dumps(doc, indent=1))
    pathlib.Path(out, "tables.md").write_text(body)


def main(argv):
    args = parse(argv)
    if args.list:
        for program in catalogue.read():
            print(f"{program.kind:6} {program.name:12} {program.what}")
        return 0
    try:
        if args.render:
            doc = joining.joined([joining.load(path) for path in args.render])
        else:
            names = [name for name in args.peers.split(",") if name]
            who = peers.collect(names, args.peer, args.peer_env, ROOT, args.ebb)
            doc = measure(args, who, plan(args))
    except (peers.MissingPeer, runner.RunFailed, joining.NotAlike, joining.Unreadable) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    body = tables.render(doc)
    print(body, end="")
    if not args.render:
        save(doc, body, args.out)
    if args.publish:
        publish(body)
    return 0
