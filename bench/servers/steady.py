#!/usr/bin/python3
"""What giving back costs a steady server: CPU time and faults per request with it and without (EBB_CONF=purge:0).

steady.py [--build DIR] [--rounds N] [--seconds N] [--rates 5,50,500]

Compiles steady.c, which is such a server with its load inside, and runs it under libebb with the defaults and with
purge:0, both at the same time, so that what happens on the machine meets both. Prints medians with (min-max) and the
median of the rounds' own ratios. Every run must give the same answers.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CONFS = {"gives back": "delay:1s", "keeps": "purge:0"}


def one_round(program, library, rate, seconds, seed):
    """conf -> what steady printed."""
    running = {}
    for name, conf in CONFS.items():
        environment = {"PATH": "/usr/bin:/bin", "LD_PRELOAD": str(library), "EBB_CONF": conf}
        running[name] = subprocess.Popen(
            [program, str(rate), str(seconds), str(seed)], env=environment, stdout=subprocess.PIPE, text=True
        )
    results = {}
    for name, child in running.items():
        text, _ = child.communicate()
        if child.returncode != 0:
            sys.exit(f"steady.py: steady under {CONFS[name]} ended with {child.returncode}")
        results[name] = json.loads(text)
    if len({result["checksum"] for result in results.values()}) != 1:
        sys.exit(f"steady.py: different answers at {rate} a second: {results}")
    return results


def spread(values, digits):
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}-{max(values):.{digits}f})"


def row(rate, rounds):
    def each(name, key, unit):
        return [result[name][key] / result[name]["requests"] / unit for result in rounds]

    cells = [str(rate), str(len(rounds))]
    for name in CONFS:
        cells += [spread(each(name, "cpu_ns", 1000), 1), spread(each(name, "faults", 1), 2)]
    ratios = [result["gives back"]["cpu_ns"] / result["keeps"]["cpu_ns"] for result in rounds]
    return "| " + " | ".join([*cells, spread(ratios, 3)]) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=HERE.parent.parent / "build", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=40)
    parser.add_argument("--rates", default="5,50,500")
    options = parser.parse_args()
    library = (options.build / "lib/libebb.so").resolve()
    if not os.access(library, os.R_OK):
        sys.exit(f"steady.py: {library} is missing: build it first (make)")
    head = ["requests/s", "rounds"]
    for name in CONFS:
        head += [f"{name}: CPU us a request", "faults a request"]
    print("| " + " | ".join([*head, "CPU, gives back / keeps"]) + " |\n|" + "---:|" * (len(head) + 1))
    with tempfile.TemporaryDirectory() as directory:
        program = f"{directory}/steady"
        subprocess.run(
            ["cc", "-O2", "-fno-builtin-malloc", "-pthread", "-o", program, str(HERE / "steady.c")], check=True
        )
        for rate in map(int, options.rates.split(",")):
            rounds = [
                one_round(program, library, rate, options.seconds, seed) for seed in range(1, options.rounds + 1)
            ]
            print(row(rate, rounds), flush=True)


main()
