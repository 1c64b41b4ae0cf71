/*
 * profile.h: the heap profile that lies in a process under Ebb (ebb/profile.h), copied out and checked.
 *
 * Owns: the copy; ebbi_profile_free releases it.
 * Never: stops or changes the process. Trusts a number that it read: the process may have written over its tables, or
 * may mean harm.
 * Threading: any thread.
 * Errors: those of shared.h; -ENOMEM; -EPROTO: what lies there is no profile of this version (*ret_version says which
 * it is, 0 for none at all). Results are untouched on failure.
 * Invariants: a node's parent has a smaller number than the node, and no stack is deeper than PROFILE_DEPTH; every
 * index lies within its table; paths are text (ebbi_text_clean). There is a node 0 and a module 0.
 */
#ifndef EBBI_OBSERVE_PROFILE_H
#define EBBI_OBSERVE_PROFILE_H

#include <ebb/profile.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROFILE_DEPTH 256

struct profile {
	uint64_t interval_bytes;
	uint64_t samples_dropped;
	uint32_t node_count;
	uint32_t site_count;
	uint32_t module_count;
	struct ebb_profile_node *nodes;
	struct ebb_profile_site *sites;
	struct ebb_profile_module *modules;
};

/* Memory that is not ours: exactly `size` bytes at `address`, 0 or negative errno. */
struct profile_reader {
	int (*read)(void *context, uint64_t address, void *ret_bytes, size_t size);
	void *context;
};

int ebbi_profile_load(const struct profile_reader *reader, uint64_t address, struct profile *ret_profile,
		      uint32_t *ret_version);

/* The profile of a process, whether Ebb was preloaded or linked in. -ENOTSUP: its libebb is of before profiles. */
int ebbi_profile_read(pid_t pid, struct profile *ret_profile, uint32_t *ret_version);

void ebbi_profile_free(struct profile *profile);

#endif
