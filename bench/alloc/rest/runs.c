/* runs (workload f): eight million small objects, the survivors in runs of 1024. */
#include "sparse.h"

int main(int argc, char **argv)
{
	static struct rest rest = {.name = "f-runs"};

	return sparse_main(&rest, argc, argv, 1024);
}
