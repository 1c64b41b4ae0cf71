/* sparse (workload e): eight million small objects, every 64th survives. */
#include "sparse.h"

int main(int argc, char **argv)
{
	static struct rest rest = {.name = "e-sparse"};

	return sparse_main(&rest, argc, argv, 1);
}
