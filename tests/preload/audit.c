/*
 * audit.c: a library for LD_AUDIT. It lives in a name space of its own, with a libc and a malloc of its own,
 * and writes one line to the file named by EBB_AUDIT_LOG when the program is about to start.
 */
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

unsigned int la_version(unsigned int version);
unsigned int la_objopen(struct link_map *map, Lmid_t lmid, uintptr_t *cookie);
void la_preinit(uintptr_t *cookie);

static unsigned objects;
static char *names[256]; /* this name space's malloc at work beside the program's */

unsigned int la_version(unsigned int version)
{
	return version < LAV_CURRENT ? version : LAV_CURRENT;
}

unsigned int la_objopen(struct link_map *map, Lmid_t lmid, uintptr_t *cookie)
{
	(void)lmid;
	(void)cookie;
	if (objects < 256)
		names[objects] = strdup(map->l_name);
	objects++;
	return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

void la_preinit(uintptr_t *cookie)
{
	const char *log = getenv("EBB_AUDIT_LOG");
	char line[64];
	int fd, length;

	(void)cookie;
	if (!log)
		return;
	length = snprintf(line, sizeof(line), "objects=%u\n", objects);
	fd = open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	if (fd >= 0) {
		if (write(fd, line, (size_t)length) != length)
			abort();
		close(fd);
	}
}
