/*
 * loaded.h: the program and the libraries of a process, in the order in which the loader looks names up.
 *
 * Owns: nothing. Never: stops or changes the process. Trusts nothing that it reads there.
 * Threading: one thread. Errors: as procread.h. A process whose loader's list cannot be read (a static program, one that
 * has just begun, one we may not read) has its objects in the order of their addresses, and `ordered` is false.
 * Bounds: LOADED_MOST objects; what is beyond them is counted in `left_out`.
 *
 * The order is the loader's list of link_map: the program, what is preloaded, then libraries in breadth first order, then
 * those opened later, whose names the others do not see. (An audit namespace and dlmopen's are not in it.)
 */
#ifndef EBBI_OBSERVE_LOADED_H
#define EBBI_OBSERVE_LOADED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define LOADED_MOST 512

struct loaded_object {
	char path[512]; /* as the process sees it; cut when longer, and then not found */
	uint64_t start; /* the first mapping */
	uint64_t end;   /* of the last one */
	bool program;   /* the main binary */
	bool deleted;
	bool placed; /* in the loader's list */
};

struct loaded {
	bool ordered;
	size_t left_out;
	size_t count;
	struct loaded_object all[LOADED_MOST];
};

int ebbi_loaded(pid_t pid, struct loaded *ret_loaded);

/* Opens the file of an object for reading: the descriptor, or negative errno. */
int ebbi_loaded_open(pid_t pid, const struct loaded_object *object);

#endif
