"""The command line of scripts/bench-oom: who survives a burst in a memory control group."""

import argparse
import os
import pathlib
import subprocess
import sys

from harness import peers, tables

from .group import Group, NoGroups

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent / "programs"
RUN_SECONDS = 120


def languages(bench_dir):
    return {
        "C": [os.path.join(bench_dir, "oom", "burst")],
        "C++": [os.path.join(bench_dir, "oom", "burstpp")],
        "Python": ["/usr/bin/python3", str(HERE / "burst.py")],
        "Ruby": ["/usr/bin/ruby", "--disable-gems", str(HERE / "burst.rb")],
    }


def parse(argv):
    p = argparse.ArgumentParser(
        prog="scripts/bench-oom",
        description="Runs bursts of random shape, up to twice the limit, in a memory control group under each allocator, "
        "Ebb with budget:auto. Says how many runs the kernel killed, how many bursts were done in full or refused with an "
        "error that the program lived through, and the peak against the limit. Needs root.",
    )
    p.add_argument("--peers", metavar="LIST", default="glibc,jemalloc,mimalloc,ebb", help="default: %(default)s")
    p.add_argument("--peer", metavar="NAME=PATH", action="append", default=[], help="another library to compare")
    p.add_argument("--languages", metavar="LIST", default="C,C++,Python,Ruby", help="default: %(default)s")
    p.add_argument("--limits", metavar="MIB,...", default="256,512", help="limits of the group; default: %(default)s")
    p.add_argument("--bursts", type=int, default=20, help="in each run; default: %(default)s")
    p.add_argument("--rounds", type=int, default=3, help="runs with other seeds; default: %(default)s")
    p.add_argument("--seed", type=int, default=1, help="of the first round; default: %(default)s")
    p.add_argument("--build", default=str(ROOT / "build" / "release"), help="build directory (build/release)")
    p.add_argument("--ebb", default=str(ROOT / "build" / "lib" / "libebb.so"), help="libebb.so to measure")
    return p.parse_args(argv)


def environment(peer):
    env = {key: value for key, value in os.environ.items() if key not in ("LD_PRELOAD", "EBB_CONF", "MALLOC_CONF")}
    env.update(peer.env)
    if peer.name == "ebb":
        env.setdefault("EBB_CONF", "budget:auto")
    if peer.library:
        env["LD_PRELOAD"] = peer.library
    return env


def run(command, peer, limit_mib, bursts, seed):
    """One run in a group of its own."""
    group = Group(f"ebb-oom-{os.getpid()}", limit_mib << 20)
    try:
        child = subprocess.Popen(
            [*command, str(bursts), str(seed), str(2 * limit_mib)],
            env=environment(peer),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=group.enter,
        )
        try:
            out, err = child.communicate(timeout=RUN_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            out, err = child.communicate()
        words = [line.split() for line in out.splitlines()]
        return {
            "done": sum(1 for w in words if w[0] == "done"),
            "refused": sum(1 for w in words if w[0] == "refused"),
            "ended": child.returncode == 0 and any(w[0] == "end" for w in words),
            "killed": group.kills() > 0,
            "status": child.returncode,
            "rss_kib": next((int(w[1]) for w in words if w[0] == "end"), None),
            "group_bytes": group.peak_bytes(),
            "said": err,
        }
    finally:
        group.remove()


def cell(runs):
    killed = sum(1 for r in runs if r["killed"])
    other = sum(1 for r in runs if not r["killed"] and not r["ended"])
    done, refused = sum(r["done"] for r in runs), sum(r["refused"] for r in runs)
    text = f"killed {killed}/{len(runs)}" if killed else f"lived {len(runs) - other}/{len(runs)}"
    if other:
        text += f", failed {other}"
    peaks = [r["rss_kib"] / 1024 for r in runs if r["rss_kib"] is not None]
    peak = f", peak {max(peaks):.1f}" if peaks and not killed else ""
    return f"{text}; {done} done, {refused} refused{peak}"


def main(argv):
    args = parse(argv)
    rows, failures = [], []
    try:
        who = peers.collect([name for name in args.peers.split(",") if name], args.peer, [], ROOT, args.ebb)
        commands = languages(os.path.join(args.build, "bench"))
        for language in args.languages.split(","):
            for limit_mib in [int(limit) for limit in args.limits.split(",")]:
                row = [f"{language}, {limit_mib} MiB"]
                for peer in who:
                    runs = [
                        run(commands[language], peer, limit_mib, args.bursts, args.seed + i)
                        for i in range(args.rounds)
                    ]
                    row.append(cell(runs))
                    failures += [
                        f"{row[0]}, {peer.name}: status {r['status']}: {r['said'].strip()[-300:]}"
                        for r in runs
                        if not r["killed"] and not r["ended"]
                    ]
                    print(f"{row[0]}, {peer.name}: {row[-1]}", file=sys.stderr)
                rows.append(row)
    except (peers.MissingPeer, NoGroups, KeyError) as error:
        print(f"bench-oom: {error}", file=sys.stderr)
        return 1
    print(f"{args.bursts} bursts a run, {args.rounds} runs; peak is the process's resident memory in MiB.\n")
    print(tables.table(["", *[peer.name for peer in who]], rows))
    for failure in failures:
        print(f"bench-oom: {failure}", file=sys.stderr)
    return 0
