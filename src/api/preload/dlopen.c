/*
 * dlopen.c: dlopen without RTLD_DEEPBIND, in the shared library alone.
 *
 * A library opened with that flag (PHP opens its extensions so) looks names up in itself and in what it
 * needs, libc among that, before it looks where everybody else does. It would take libc's free for blocks that
 * we gave out, and the process ends. Without the flag it finds malloc where all others do.
 *
 * The dynamic linker judges by the return address who calls dlopen: whose RUNPATH counts, and in which
 * namespace. So the real function must be jumped to, not called: a sibling call, which the compilers make of the
 * last line wherever they optimise. tests/preload/odd.sh deep fails where they do not.
 */
#include <dlfcn.h>
#include <stddef.h>

#include "api/names.h"
#include "base/atomic.h"
#include "base/bits.h"

typedef void *opener(const char *file, int mode);

/* The next dlopen in search order: libc's, or that of a tool that stands between. Set once; any thread. */
static opener *next_dlopen;

/* Kept apart, so that the way through dlopen has no frame. */
static __attribute__((noinline, cold)) opener *find_next(void)
{
	opener *found = NULL;

	*(void **)&found = dlsym(RTLD_NEXT, "dlopen");
	ebbi_store_relaxed(&next_dlopen, found);
	return found;
}

EBBI_EXPORT void *dlopen(const char *file, int mode)
{
	opener *next = ebbi_load_relaxed(&next_dlopen);

	if (EBBI_UNLIKELY(next == NULL))
		next = find_next();
	return next(file, mode & ~RTLD_DEEPBIND);
}
