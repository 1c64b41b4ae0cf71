"""Bursts of objects in Python; see burst.h. MemoryError ends a burst."""

import random
import resource
import sys

# No shape of small objects alone: refused in the middle of those, the interpreter itself fails ("error return without exception
# set") under any allocator; seen with libc's and RLIMIT_AS.
SHAPES = [(1024, 8192), (8192, 200000), (200000, 8000000)]


def burst(rng, held, total, shape):
    """Returns (bytes, refused)."""
    taken = 0
    try:
        while taken < total:
            least, most = SHAPES[shape if shape < len(SHAPES) else rng.randrange(len(SHAPES))]
            size = rng.randrange(least, most)
            held.append(bytearray(size))
            # A bytearray of zeros may come from fresh pages: touch them all.
            held[-1][::4096] = b"\x01" * len(range(0, size, 4096))
            taken += size
    except MemoryError:
        return taken, True
    return taken, False


def main():
    bursts, seed, most = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) << 20
    rng = random.Random(seed)
    held = []
    for _ in range(bursts):
        taken, refused = burst(rng, held, rng.randrange(most // 4, most), rng.randrange(len(SHAPES) + 1))
        print("refused" if refused else "done", taken >> 20, flush=True)
        keep = rng.random() * 0.2
        # One by one: to delete a slice Python copies it, for which there may be no room at the line.
        for _ in range(int(len(held) * (1 - keep))):
            held.pop()
    print("end", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, flush=True)


main()
