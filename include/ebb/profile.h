/*
 * profile.h: who allocated what is live, by stacks; as it lies in a process that runs on libebb.
 *
 * Owns: the layout of the tables that are read from outside with process_vm_readv(2), found by the library's dynamic
 * symbol `ebb_shared_profile`. Never: is needed by a program that only allocates.
 *
 * Threading: the process writes while others read. Tables grow at their end and an entry is complete before its
 * table's count says so: read the counts first, then the tables. Only the four figures of a site change
 * later, each by itself, so that they may be a sample apart from each other.
 *
 * Errors: a reader that finds another `version`, or entries shorter than it knows, must say so and stop. Entries may
 * become longer: go from one to the next by the *_bytes given here. A table's address is 0 until the first sample was taken.
 *
 * Figures are estimates: allocations are sampled with a mean distance of interval_bytes, and each sample counts for
 * as many as it stands for. Bytes are those of whole slots and pages, as in struct ebb_snapshot's live_bytes.
 */
#ifndef EBB_PROFILE_H
#define EBB_PROFILE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EBB_PROFILE_MAGIC 0x45424270u /* "EBBp" */
#define EBB_PROFILE_VERSION 1u

/*
 * A return address and all that called it: the parent's stack. Node 0 is the root, which is no frame; its children are the
 * outermost frames that were seen (of a deep stack, the innermost ones are recorded). A frame's call lies before its address.
 */
struct ebb_profile_node {
	uint64_t address;
	uint32_t parent; /* a smaller number than its own */
	uint32_t module; /* the address lies in */
};

/* A distinct stack that memory was allocated from. */
struct ebb_profile_site {
	uint32_t node;       /* innermost frame: the one that called malloc, or malloc itself in a static program */
	uint32_t owner;      /* module to whose account it is: of the first frame outside the C and C++ libraries */
	uint64_t live_bytes; /* allocated and not freed */
	uint64_t live_objects;
	uint64_t total_bytes; /* allocated since the start */
	uint64_t total_objects;
};

#define EBB_PROFILE_BUILD_ID 32
#define EBB_PROFILE_PATH 440

/*
 * A file that code came from, recorded when it was first seen and kept when it is unloaded. Module 0 is code of no file:
 * made at run time. `address - bias` is the address in the file's own terms (its symbol table's).
 */
struct ebb_profile_module {
	uint64_t start;
	uint64_t end;
	uint64_t bias;
	uint8_t build_id_bytes; /* 0: it has none */
	uint8_t build_id[EBB_PROFILE_BUILD_ID];
	char path[EBB_PROFILE_PATH]; /* as the loader has it, ends with 0 */
};

struct ebb_shared_profile {
	uint32_t magic;
	uint32_t version;
	uint32_t size_bytes;
	uint32_t reserved;
	uint64_t interval_bytes; /* mean distance of samples; 0: no samples are taken */
	uint64_t nodes_at;       /* struct ebb_profile_node[] */
	uint64_t sites_at;       /* struct ebb_profile_site[] */
	uint64_t modules_at;     /* struct ebb_profile_module[] */
	uint32_t node_bytes;
	uint32_t site_bytes;
	uint32_t module_bytes;
	uint32_t nodes; /* the counts: acquire */
	uint32_t sites;
	uint32_t modules;
	uint64_t samples_dropped; /* for want of room in the tables: the figures are then too small */
};

extern struct ebb_shared_profile ebb_shared_profile;

#ifdef __cplusplus
}
#endif

#endif
