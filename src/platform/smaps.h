/*
 * smaps.h: what of this process's resident memory is not anonymous heap: files and stacks.
 *
 * Owns: nothing. Never: allocates, touches errno. Threading: any thread. Errors: false where the kernel does not say.
 */
#ifndef EBBI_PLATFORM_SMAPS_H
#define EBBI_PLATFORM_SMAPS_H

#include <stdbool.h>
#include <stdint.h>

struct ebbi_smaps {
	uint64_t file_bytes;  /* resident in mappings of files: the binary, libraries, and their data */
	uint64_t stack_bytes; /* resident in the main thread's stack and in those mappings that are one */
};

/*
 * Walks over /proc/self/smaps, which takes the kernel about 12 ms for 512 MiB: for rare occasions. `is_stack` is asked of
 * each anonymous mapping.
 */
bool ebbi_smaps_read(bool (*is_stack)(uintptr_t start, uintptr_t end), struct ebbi_smaps *ret_smaps);

#endif
