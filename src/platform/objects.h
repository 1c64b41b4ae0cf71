/*
 * objects.h: which loaded file an address lies in, without a lock.
 *
 * Owns: nothing: glibc 2.35 and newer keeps the table (_dl_find_object), which may be read by any thread and any signal
 * handler, while another one is in dlopen or dlclose.
 *
 * Never: allocates, waits, calls into the loader otherwise. Threading: any; what a result points to lasts as long
 * as the file is loaded, as it is while its code is on the caller's stack. Errors: false: no file's code, or this C library cannot say.
 */
#ifndef EBBI_PLATFORM_OBJECTS_H
#define EBBI_PLATFORM_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ebbi_object {
	uint64_t start; /* of all that is mapped from it */
	uint64_t end;
	uint64_t bias;           /* what its own addresses are off by */
	const char *name;        /* as the loader has it; "" for the program */
	const uint8_t *eh_frame; /* .eh_frame_hdr, NULL when it has none */
};

/* Does this C library know? */
bool ebbi_objects_known(void);

bool ebbi_object_find(uint64_t address, struct ebbi_object *ret_object);

/* The build id of a loaded file: at most `most` bytes; returns how many, 0 when it has none. */
unsigned ebbi_object_build_id(const struct ebbi_object *object, uint8_t *ret_id, unsigned most);

/* The program's own path into `ret_path`, cut to `size` with its end. */
void ebbi_object_program_path(char *ret_path, size_t size);

#endif
