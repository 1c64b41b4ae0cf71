/*
 * unit.h: what systemctl says of a service.
 *
 * Owns: the texts inside. Never: changes a unit. Threading: one thread (it forks).
 * Errors: -EINVAL: no name of a service; -ENOENT: systemctl is not there, or failed; each with a line.
 */
#ifndef EBBI_CLI_UNIT_H
#define EBBI_CLI_UNIT_H

#include <stddef.h>
#include <sys/types.h>

struct unit {
	char name[256]; /* "redis.service" */
	char text[16384];
};

/* "redis" is "redis.service". */
int ebbi_unit_name(const char *given, char *ret_name, size_t size, char *ret_message);

/* Asks systemctl show. */
int ebbi_unit_read(const char *given, struct unit *ret_unit, char *ret_message);

/* Of one property that was asked for; "" when there is none. */
void ebbi_unit_property(const struct unit *unit, const char *property, char *ret_value, size_t size);

#endif
