/*
 * machine.h: what makes two measurements comparable, and how far a figure may be off.
 *
 * Owns: nothing. Never: changes anything. Threading: any thread.
 * Errors: a fact that cannot be read is "unknown" or 0; nothing here fails.
 */
#ifndef EBBI_OBSERVE_MACHINE_H
#define EBBI_OBSERVE_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

struct machine {
	char kernel[96];
	char architecture[32];
	char thp[16]; /* always, madvise, never, unknown */
	uint32_t cpus;
	uint64_t page_bytes;
	uint64_t memory_bytes;
	uint64_t swap_bytes;
};

void ebbi_machine_read(struct machine *ret_machine);

/*
 * How far VmRSS, VmHWM and statm may be from the truth, for one process with `threads` threads.
 *
 * Since Linux 6.2 each of the three counters (file, anonymous, shared memory) is per-CPU with a
 * batch of max(32, 2 * CPUs) pages a CPU. Before, every thread kept up to 64 pages to itself.
 * Pure: the release string is a parameter.
 */
uint64_t ebbi_counter_bound(const char *release, uint32_t cpus, uint64_t page_bytes, uint64_t threads);

#endif
