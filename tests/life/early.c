/*
 * malloc before anybody expects it: in .preinit_array and in constructors of this program and of a
 * library; what they allocated is used and freed in main.
 */
#include "check.h"

#include "early_lib.h"

static void *from_preinit;
static void *from_constructor[3];

static void preinit(int argc, char **argv, char **envp)
{
	(void)argc;
	(void)argv;
	(void)envp;
	from_preinit = malloc(1 << 20);
	memset(from_preinit, 'p', 1 << 20);
}

#ifdef __GLIBC__ /* musl has no such array: there the first constructor is the earliest */
__attribute__((section(".preinit_array"), used)) static void (*const preinit_entry)(int, char **, char **) = preinit;
#endif

__attribute__((constructor(101))) static void first_constructor(void)
{
#ifndef __GLIBC__
	preinit(0, NULL, NULL);
#endif
	from_constructor[0] = strdup("first");
}

__attribute__((constructor(50000))) static void second_constructor(void)
{
	from_constructor[1] = realloc(from_constructor[0], 70000);
	from_constructor[0] = malloc(3);
}

__attribute__((constructor)) static void third_constructor(void)
{
	if (posix_memalign(&from_constructor[2], 4096, 10000) != 0)
		from_constructor[2] = NULL;
}

int main(void)
{
	check_allocator();
	CHECK(from_preinit != NULL && ((char *)from_preinit)[(1 << 20) - 1] == 'p', "from preinit");
	CHECK(from_constructor[1] != NULL && strcmp(from_constructor[1], "first") == 0, "constructor");
	CHECK(((uintptr_t)from_constructor[2] & 4095) == 0, "aligned in a constructor");
	free(from_preinit);
	for (unsigned i = 0; i < 3; i++)
		free(from_constructor[i]);
	CHECK(strcmp(early_text(), "made in a constructor") == 0, "from the library's constructor");
	free(early_text());
	early_check();
	return 0;
}
