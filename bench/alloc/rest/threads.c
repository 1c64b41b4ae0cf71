/*
 * threads (workload b): as cycles, but two hundred threads with 2 MiB each, and a
 * random 1 % survives.
 */
#include "cycles.h"

int main(int argc, char **argv)
{
	static struct rest rest = {.name = "b-threads", .threads = 200};

	return cycles_main(&rest, argc, argv, 2 << 20, 10);
}
