/*
 * new.c: C++'s operator new and delete, by their mangled names (Itanium C++ ABI), so that the library
 * needs no C++ runtime. What C++ must do when there is no memory, call the new-handler or throw
 * bad_alloc, is done through the C++ runtime of the program, if it has one.
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "api/names.h"
#include "heap/fast.h"
#include "platform/report.h"

typedef void new_handler(void);

/* Of libstdc++; NULL in a program that was started without it. */
extern new_handler *std_get_new_handler(void) __asm__("_ZSt15get_new_handlerv") __attribute__((weak));
extern void std_throw_bad_alloc(void) __asm__("_ZSt17__throw_bad_allocv") __attribute__((weak, noreturn));

/* The C++ runtime may have come by dlopen after this library was bound. */
static new_handler *current_handler(void)
{
	new_handler *(*get)(void) = std_get_new_handler;

	if (get == NULL)
		*(void **)(&get) = dlsym(RTLD_DEFAULT, "_ZSt15get_new_handlerv");
	return get == NULL ? NULL : get();
}

static _Noreturn void throw_bad_alloc(void)
{
	void (*throw_it)(void) = std_throw_bad_alloc;

	if (throw_it == NULL)
		*(void **)(&throw_it) = dlsym(RTLD_DEFAULT, "_ZSt17__throw_bad_allocv");
	if (throw_it != NULL)
		throw_it();
	ebbi_report_internal("operator new has no memory, and there is no C++ runtime to throw bad_alloc");
}

static void *try_once(size_t bytes, size_t align_bytes)
{
	if (!ebbi_is_power_of_two(align_bytes))
		return NULL;
	if (align_bytes <= EBBI_ALIGNMENT)
		return ebbi_fast_alloc(bytes);
	return ebbi_heap_alloc(bytes, align_bytes, EBBI_CONTENT_ANY);
}

/* [new.delete.single]: as long as there is a handler, call it and try again. A handler may throw. */
static void *try_until_handler_gives_up(size_t bytes, size_t align_bytes)
{
	for (;;) {
		void *block = try_once(bytes, align_bytes);
		new_handler *handler;

		if (block != NULL)
			return block;
		handler = current_handler();
		if (handler == NULL)
			return NULL;
		handler();
	}
}

static void *new_or_throw(size_t bytes, size_t align_bytes)
{
	void *block = try_until_handler_gives_up(bytes, align_bytes);

	if (block == NULL)
		throw_bad_alloc();
	return block;
}

#define NAME(mangled) __asm__(mangled) EBBI_EXPORT

void *ebbi_new(size_t bytes) NAME("_Znwm");
void *ebbi_new_array(size_t bytes) NAME("_Znam");
void *ebbi_new_nothrow(size_t bytes, const void *tag) NAME("_ZnwmRKSt9nothrow_t");
void *ebbi_new_array_nothrow(size_t bytes, const void *tag) NAME("_ZnamRKSt9nothrow_t");
void *ebbi_new_aligned(size_t bytes, size_t align_bytes) NAME("_ZnwmSt11align_val_t");
void *ebbi_new_array_aligned(size_t bytes, size_t align_bytes) NAME("_ZnamSt11align_val_t");
void *ebbi_new_aligned_nothrow(size_t bytes, size_t align_bytes, const void *tag)
	NAME("_ZnwmSt11align_val_tRKSt9nothrow_t");
void *ebbi_new_array_aligned_nothrow(size_t bytes, size_t align_bytes, const void *tag)
	NAME("_ZnamSt11align_val_tRKSt9nothrow_t");

void *ebbi_new(size_t bytes)
{
	if (EBBI_LIKELY(bytes <= EBBI_SMALL_MOST)) {
		void *block = ebbi_fast_alloc(bytes);

		if (EBBI_LIKELY(block != NULL))
			return block;
	}
	return new_or_throw(bytes, EBBI_ALIGNMENT);
}

void *ebbi_new_array(size_t bytes)
{
	return ebbi_new(bytes);
}

void *ebbi_new_aligned(size_t bytes, size_t align_bytes)
{
	return new_or_throw(bytes, align_bytes);
}

void *ebbi_new_array_aligned(size_t bytes, size_t align_bytes)
{
	return new_or_throw(bytes, align_bytes);
}

/*
 * Without memory the C++ runtime's own nothrow form takes over: it calls the throwing form, which is
 * ours, and catches what the new-handler or we throw, which C cannot.
 */
void *ebbi_new_nothrow(size_t bytes, const void *tag)
{
	void *(*next)(size_t, const void *);
	void *block = try_once(bytes, EBBI_ALIGNMENT);

	if (EBBI_LIKELY(block != NULL))
		return block;
	*(void **)(&next) = dlsym(RTLD_NEXT, "_ZnwmRKSt9nothrow_t");
	return next == NULL ? NULL : next(bytes, tag);
}

void *ebbi_new_array_nothrow(size_t bytes, const void *tag)
{
	return ebbi_new_nothrow(bytes, tag);
}

void *ebbi_new_aligned_nothrow(size_t bytes, size_t align_bytes, const void *tag)
{
	void *(*next)(size_t, size_t, const void *);
	void *block = try_once(bytes, align_bytes);

	if (EBBI_LIKELY(block != NULL))
		return block;
	*(void **)(&next) = dlsym(RTLD_NEXT, "_ZnwmSt11align_val_tRKSt9nothrow_t");
	return next == NULL ? NULL : next(bytes, align_bytes, tag);
}

void *ebbi_new_array_aligned_nothrow(size_t bytes, size_t align_bytes, const void *tag)
{
	return ebbi_new_aligned_nothrow(bytes, align_bytes, tag);
}

/*
 * Every form of delete frees the block; a size that it is told is compared in a hardened heap, else it says nothing
 * new, as an alignment does.
 */
#define DELETE(suffix, mangled, ...) \
	void ebbi_delete_##suffix(__VA_ARGS__) NAME(mangled); \
	void ebbi_delete_##suffix(__VA_ARGS__)

#define UNUSED __attribute__((unused))

DELETE(plain, "_ZdlPv", void *block)
{
	ebbi_fast_free(block);
}

DELETE(array, "_ZdaPv", void *block)
{
	ebbi_fast_free(block);
}

DELETE(sized, "_ZdlPvm", void *block, size_t bytes)
{
	ebbi_fast_free_sized(block, bytes);
}

DELETE(array_sized, "_ZdaPvm", void *block, size_t bytes)
{
	ebbi_fast_free_sized(block, bytes);
}

DELETE(nothrow, "_ZdlPvRKSt9nothrow_t", void *block, const void *tag UNUSED)
{
	ebbi_fast_free(block);
}

DELETE(array_nothrow, "_ZdaPvRKSt9nothrow_t", void *block, const void *tag UNUSED)
{
	ebbi_fast_free(block);
}

DELETE(aligned, "_ZdlPvSt11align_val_t", void *block, size_t align_bytes UNUSED)
{
	ebbi_fast_free(block);
}

DELETE(array_aligned, "_ZdaPvSt11align_val_t", void *block, size_t align_bytes UNUSED)
{
	ebbi_fast_free(block);
}

DELETE(sized_aligned, "_ZdlPvmSt11align_val_t", void *block, size_t bytes, size_t align_bytes UNUSED)
{
	ebbi_fast_free_sized(block, bytes);
}

DELETE(array_sized_aligned, "_ZdaPvmSt11align_val_t", void *block, size_t bytes, size_t align_bytes UNUSED)
{
	ebbi_fast_free_sized(block, bytes);
}

DELETE(aligned_nothrow, "_ZdlPvSt11align_val_tRKSt9nothrow_t", void *block, size_t align_bytes UNUSED,
       const void *tag UNUSED)
{
	ebbi_fast_free(block);
}

DELETE(array_aligned_nothrow, "_ZdaPvSt11align_val_tRKSt9nothrow_t", void *block, size_t align_bytes UNUSED,
       const void *tag UNUSED)
{
	ebbi_fast_free(block);
}
