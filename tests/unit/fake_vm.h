/*
 * fake_vm.h: a kernel for unit tests: struct ebbi_vm on real memory, that keeps books.
 *
 * Owns: every range it handed out, which pages of it are committed, counts of calls, and the plan of
 * refusals. Never: gives an address out twice across fake_vm_reset, since the page map remembers.
 * Threading: any thread; a mutex of its own. Errors: as platform/vm.h; a call that breaks the
 * contract there (odd range, memory that is not ours, a lock held) ends the test with one line.
 *
 * The emulated page may be 4, 16 or 64 KiB: then every range must be a multiple of that.
 */
#ifndef TESTS_UNIT_FAKE_VM_H
#define TESTS_UNIT_FAKE_VM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "platform/vm.h"

enum fake_op {
	FAKE_RESERVE,
	FAKE_COMMIT,
	FAKE_MAP,
	FAKE_PURGE,
	FAKE_UNMAP,
	FAKE_REMAP,
	FAKE_ADVISE,
	FAKE_GUARD,
	FAKE_SPLIT,
	FAKE_OPS
};

#define FAKE_BIT(op) (1u << (op))
#define FAKE_ALL ((1u << FAKE_OPS) - 1)

extern const struct ebbi_vm fake_vm;

/* Forget everything: no ranges, no calls, no refusals. */
void fake_vm_reset(size_t page_bytes);

/* New ranges lie below `top`, each below the one before it; 0: where the kernel likes, as at the start. */
void fake_vm_place_below(uintptr_t top);

/* Calls since the reset, refused ones included. */
unsigned fake_vm_calls(enum fake_op op);
unsigned fake_vm_refused(enum fake_op op);
/* The range of the last call of this kind. */
void fake_vm_last(enum fake_op op, uintptr_t *ret_base, size_t *ret_bytes);

/* Let `after` calls of this kind pass, then refuse `count` (UINT32_MAX: all). */
void fake_vm_refuse(enum fake_op op, unsigned after, unsigned count);
/* What refusals of this kind say from now on, as a negative errno; 0: the usual. */
void fake_vm_refuse_with(enum fake_op op, int error);
/* As max_map_count: ranges and stretches of equal rights in them; 0 ends that. And how many there are. */
void fake_vm_limit_maps(size_t most);
size_t fake_vm_maps(void);
/* Refuse `per_mille` of the calls whose bit is in `ops`; 0 ends that. */
void fake_vm_refuse_randomly(unsigned ops, unsigned per_mille, uint64_t seed);

/* 4 KiB pages of the range that the real kernel holds in memory. */
size_t fake_vm_resident_pages(uintptr_t base, size_t bytes);
/* Bytes committed in all ranges, and bytes of all ranges. */
size_t fake_vm_committed_bytes(void);
size_t fake_vm_reserved_bytes(void);
/* All of it was handed out and is committed. */
bool fake_vm_is_committed(uintptr_t base, size_t bytes);

#endif
