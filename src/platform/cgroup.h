/*
 * cgroup.h: the memory limit that control groups set for this process.
 *
 * Owns: nothing. Never: allocates, touches errno, keeps a descriptor open. Threading: any thread.
 * Errors: what cannot be read limits nothing.
 *
 * Both versions count: version 1's memory.limit_in_bytes and hierarchical_memory_limit, version 2's memory.max and memory.high
 * (above which the kernel slows the process down to a crawl), in the process's own group and in each above it that
 * can be seen. In a container the groups above are not visible in version 2; version 1's hierarchical
 * limit contains them.
 */
#ifndef EBBI_PLATFORM_CGROUP_H
#define EBBI_PLATFORM_CGROUP_H

#include <stdint.h>

/* In bytes; UINT64_MAX when there is no limit. `root` is put in front of every path: "", or a test's own directory. */
uint64_t ebbi_cgroup_limit_bytes(const char *root);

#endif
