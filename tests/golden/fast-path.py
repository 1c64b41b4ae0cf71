#!/usr/bin/python3
"""How many instructions malloc and free execute, counted by callgrind and compared with a golden file.

    fast-path.py --program P --library L --golden FILE [--update]

Each row of the golden file is a mode of fast-path.c, a function of libebb, and the instructions that a
round of the mode spends in that function and what it calls. A round's figure is the difference between a long
and a short run, divided by the rounds between them, so that neither start-up nor warming up counts.

callgrind does not replace malloc (memcheck does). The scavenger and membarrier are switched off: valgrind
knows no bare threads, and no look may fall into the count.
"""

import argparse
import os
import re
import subprocess
import sys

ROWS = [
    ("pair-16", "malloc"), ("pair-16", "free"),
    ("pair-64", "malloc"), ("pair-64", "free"),
    ("pair-1000", "malloc"), ("pair-1000", "free"),
    ("pair-1025", "malloc"), ("pair-1025", "free"),
    ("pair-16384", "malloc"), ("pair-16384", "free"),
    ("calloc-64", "calloc"), ("realloc-64", "realloc"),
    ("usable-64", "malloc_usable_size"), ("free-null", "free"),
]
SHORT = 200
LONG = 1200
HEAD = """# Instructions a round, counted by tests/golden/fast-path.py: mode, function, count.
# To accept new figures: make golden
"""


def collected(arguments, mode, function, rounds):
    environment = dict(os.environ, LD_PRELOAD=arguments.library,
                       EBB_CONF="scavenger:0,membarrier:0,delay:86400s,sample:0")
    run = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", f"--toggle-collect={function}",
         arguments.program, mode, str(rounds)],
        env=environment, capture_output=True, text=True)
    match = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode != 0 or not match:
        sys.exit(f"fast-path: {mode}: valgrind failed ({run.returncode}):\n{run.stderr}")
    return int(match.group(1))


def measure(arguments):
    for mode, function in ROWS:
        short = collected(arguments, mode, function, SHORT)
        count, rest = divmod(collected(arguments, mode, function, LONG) - short, LONG - SHORT)
        if rest != 0:
            sys.exit(f"fast-path: {mode}: the rounds are not alike, so some leave the short way")
        yield mode, function, count


def read_golden(path):
    with open(path, encoding="utf-8") as file:
        rows = [line.split() for line in file if line.strip() and not line.startswith("#")]
    return {(mode, function): int(count) for mode, function, count in rows}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("--golden", required=True)
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    rows = list(measure(arguments))
    text = HEAD + "".join(f"{mode:<12} {function:<20} {count}\n" for mode, function, count in rows)
    if arguments.update:
        with open(arguments.golden, "w", encoding="utf-8") as file:
            file.write(text)
        print(text, end="")
        return
    golden = read_golden(arguments.golden)
    wrong = 0
    for mode, function, count in rows:
        expected = golden.pop((mode, function), None)
        print(f"{mode:<12} {function:<20} {count:>10}" + ("" if count == expected else f"   expected {expected}"))
        wrong += count != expected
    for mode, function in golden:
        print(f"{mode:<12} {function:<20} not measured any more")
        wrong += 1
    if wrong:
        sys.exit(f"fast-path: {wrong} rows differ. If that is what you meant: make golden, and say why in the commit.")


main()
