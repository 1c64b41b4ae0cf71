/* An LD_AUDIT library: it lives in a namespace of its own, with a malloc of its own, and watches. */
#include "check.h"

#include <link.h>

static unsigned objects;

unsigned la_version(unsigned version)
{
	free(hide(malloc(1000)));
	return version < LAV_CURRENT ? version : LAV_CURRENT;
}

unsigned la_objopen(struct link_map *map, Lmid_t lmid, uintptr_t *cookie)
{
	(void)map;
	(void)lmid;
	(void)cookie;
	char *text = malloc(100);

	if (text != NULL)
		snprintf(text, 100, "object %u", ++objects);
	free(text);
	return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned index, uintptr_t *from, uintptr_t *to, unsigned *flags,
		       const char *name)
{
	(void)index;
	(void)from;
	(void)to;
	(void)flags;
	(void)name;
	return symbol->st_value;
}
