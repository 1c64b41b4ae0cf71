/*
 * cycles (workload a): five threads, three cycles of 40 MiB each of lognormal
 * sizes (median 200 bytes, 16 bytes to 80 KiB), half of the objects replaced in
 * each cycle, then all but a random 2 % freed.
 */
#include "cycles.h"

int main(int argc, char **argv)
{
	static struct rest rest = {.name = "a-cycles", .threads = 5};

	return cycles_main(&rest, argc, argv, 40 << 20, 20);
}
