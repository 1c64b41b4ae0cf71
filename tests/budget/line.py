"""Python under EBB_CONF=budget:96M: MemoryError at the line, and work goes on behind it."""

import resource
import sys


def hoard(size):
    """Objects of one size until there is no more; how much that was."""
    held = []
    try:
        while True:
            held.append(bytearray(size))
            held[-1][::4096] = b"x" * len(range(0, size, 4096))
    except MemoryError:
        return len(held) * size
    finally:
        held.clear()


def main():
    for size in (2000, 50000, 3000000, 50000):
        taken = hoard(size) >> 20
        if not 40 <= taken <= 96:
            sys.exit(f"{taken} MiB in objects of {size} bytes")
        print(f"{taken} MiB in objects of {size} bytes, then refused", flush=True)
    try:
        bytearray(500 << 20)
        sys.exit("500 MiB were given")
    except MemoryError:
        pass
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(f"peak {peak} MiB")
    if peak > 98:
        sys.exit(f"peak {peak} MiB")
    print(sum(len(str(i)) for i in range(100000)))


main()
