/*
 * maps.h: how many mappings the process has, and may have.
 *
 * Owns: reading /proc/self/maps and /proc/sys/vm/max_map_count. Never: allocates, touches errno. Threading: any
 * thread. Errors: none; where /proc cannot be read the process counts as full, and nothing cuts its mappings up.
 */
#ifndef EBBI_PLATFORM_MAPS_H
#define EBBI_PLATFORM_MAPS_H

#include <stddef.h>

/* Mappings the kernel allows this process, 65530 when it does not say. Opens a file. */
size_t ebbi_maps_limit(void);

/* See maps_left in platform/vm.h. */
size_t ebbi_maps_left(void);

#endif
