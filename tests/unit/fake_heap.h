/*
 * fake_heap.h: the process's heap on the fake kernel of fake_vm.h, for tests of the heap layer.
 *
 * Owns: booting it. Threading: once, before any other thread. Errors: a failed check.
 */
#ifndef EBB_TESTS_FAKE_HEAP_H
#define EBB_TESTS_FAKE_HEAP_H

#include <stdlib.h>

#include "check.h"
#include "fake_vm.h"
#include "heap/heap.h"

/* Boot makes no kernel call for the heap: the fake can take the kernel's place right after it. */
static inline void boot_on_fake(void)
{
	CHECK_EQ(setenv("EBB_CONF", "scavenger:0,delay:86400s", 1), 0);
	ebbi_heap_boot();
	fake_vm_reset(ebbi_vm_page_bytes());
	ebbi_heap.store.pages.vm = &fake_vm;
	ebbi_heap.store.meta.vm = &fake_vm;
	/* Not what this machine's administrator, or a test that runs beside us, has set. */
	ebbi_heap.store.pages.huge_known = EBBI_HUGE_NO;
}

#endif
