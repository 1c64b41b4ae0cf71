"""The command line of scripts/bench-real."""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

from harness import facts, peers
from harness.main import shown_arguments

from . import once, served, tables, workloads

ROOT = pathlib.Path(__file__).resolve().parents[2]


def parse(argv):
    p = argparse.ArgumentParser(
        prog="scripts/bench-real",
        description="Runs real programs under Ebb and its peers, alternating, in fresh processes, and prints medians with ranges.",
    )
    p.add_argument("--only", metavar="REGEX", help="only workloads whose name matches")
    p.add_argument("--rounds", type=int, default=7, help="how often each program runs under each peer (%(default)s)")
    p.add_argument("--scale", type=float, default=1.0, help="size of the inputs (%(default)s)")
    p.add_argument("--minutes", type=float, default=13.5, help="start no further round when it would not fit (%(default)s)")
    p.add_argument("--peers", metavar="LIST", default=",".join(peers.DEFAULT), help="default: %(default)s")
    p.add_argument("--peer", metavar="NAME=PATH", action="append", default=[], help="another library to compare")
    p.add_argument("--peer-env", metavar="PEER:VAR=VALUE", action="append", default=[], help="a setting of a peer")
    p.add_argument("--subject", default="ebb", help="the peer that is judged (%(default)s)")
    p.add_argument("--build", default=str(ROOT / "build" / "release"), help="build directory (build/release)")
    p.add_argument("--ebb", default=str(ROOT / "build" / "lib" / "libebb.so"), help="libebb.so to measure")
    p.add_argument("--out", default=str(ROOT / "build" / "bench-real"), help="inputs and results (build/bench-real)")
    p.add_argument("--render", metavar="RESULTS", nargs="+", help="run nothing: print saved results, several as one")
    p.add_argument("--list", action="store_true", help="list the workloads")
    return p.parse_args(argv)


def version_of(workload):
    done = subprocess.run(workload.versions, capture_output=True, text=True, check=False)
    return f"{workload.needs}: {done.stdout.splitlines()[0] if done.stdout else 'unknown'}"


def join(docs):
    """Results made in pieces, as one: of the same scale, and with the same output under the same allocators."""
    first = docs[0]
    names = [peer["name"] for peer in first["peers"]]
    for other in docs[1:]:
        if other["scale"] != first["scale"] or [peer["name"] for peer in other["peers"]] != names:
            raise once.RunFailed("results of another scale or with other peers cannot be joined")
        first["versions"].update(other["versions"])
        for workload, runs_of in other["runs"].items():
            for peer, runs in runs_of.items():
                first["runs"].setdefault(workload, {}).setdefault(peer, []).extend(runs)
    for workload, runs_of in first["runs"].items():
        if len({run["output"] for runs in runs_of.values() for run in runs}) != 1:
            raise once.RunFailed(f"{workload}: the results have different outputs")
    first["command"] = "; ".join(dict.fromkeys(doc["command"] for doc in docs))
    return first


class Bench:
    def __init__(self, args, who):
        self.launch = os.path.join(args.build, "bench", "launch")
        if not os.path.exists(self.launch):
            raise workloads.Missing(f"there is no {self.launch}: run `make` first")
        self.args = args
        self.who = who
        self.chosen = workloads.select(args.only)
        if not self.chosen or args.rounds < 1:
            raise workloads.Missing("nothing to run: no workload has such a name, or no round is wanted")
        self.work = pathlib.Path(args.out, "work").resolve()
        self.jobs = {}
        self.outputs = {}  # workload -> what the first run put out

    def prepare(self):
        for workload in self.chosen:
            directory = self.work / workload.name
            shutil.rmtree(directory, ignore_errors=True)
            directory.mkdir(parents=True)
            job = workload.prepare(directory, self.args.scale) if workload.prepare else served.prepare()
            for peer in self.who:
                once.check_served(peer, job, directory)
            self.jobs[workload.name] = (job, directory)

    def run(self, workload, peer):
        job, directory = self.jobs[workload.name]
        if workload.prepare:
            result = once.run(self.launch, peer, job, directory)
        else:
            result = served.run(peer, directory, self.args.scale)
        first = self.outputs.setdefault(workload.name, (peer.name, result["output"]))
        if first[1] != result["output"]:
            raise once.RunFailed(f"{workload.name}: {peer.name} puts out {result['output']}, {first[0]} {first[1]}")
        return result

    def rounds(self, runs):
        """Rounds outside, workloads inside, peers innermost, each round starting with another peer."""
        deadline = time.monotonic() + self.args.minutes * 60
        for number in range(self.args.rounds):
            began = time.monotonic()
            for workload in self.chosen:
                turn = number % len(self.who)
                for peer in self.who[turn:] + self.who[:turn]:
                    runs.setdefault(workload.name, {}).setdefault(peer.name, []).append(self.run(workload, peer))
            if 2 * time.monotonic() - began > deadline:
                break

    def measure(self):
        runs = {}
        self.prepare()
        collected = facts.collect()
        self.rounds(runs)
        return {
            "schema": 1,
            "facts": collected,
            "command": "scripts/bench-real " + " ".join(shown_arguments(sys.argv[1:])),
            "scale": self.args.scale,
            "peers": [peer.describe() for peer in self.who],
            "versions": {w.name: version_of(w) for w in self.chosen},
            "runs": runs,
        }


def main(argv):
    args = parse(argv)
    if args.list:
        for workload in workloads.ALL:
            print(f"{workload.name:14} {workload.what}")
        return 0
    try:
        if args.render:
            doc = join([json.loads(pathlib.Path(path).read_text()) for path in args.render])
        else:
            names = [name for name in args.peers.split(",") if name]
            who = peers.collect(names, args.peer, args.peer_env, ROOT, args.ebb)
            doc = Bench(args, who).measure()
    except (peers.MissingPeer, workloads.Missing, once.RunFailed, OSError, ValueError) as error:
        print(f"bench-real: {error}", file=sys.stderr)
        return 1
    body = tables.render(doc, args.subject)
    print(body, end="")
    if args.render:
        return 0
    out = pathlib.Path(args.out)
    (out / "results.json").write_text(json.dumps(doc, indent=1))
    (out / "tables.md").write_text(body)
    return 0
