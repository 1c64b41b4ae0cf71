/* Stacks, compared with what the C library's backtrace(3) says, which walks them by libgcc. */
#include "accounts/unwind.h"

#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "accounts/modules.h"
#include "accounts/sampling.h"
#include "accounts/stacks.h"
#include "check.h"
#include "heap/heap.h"
#include "platform/vm.h"

static struct ebbi_stack ours;
static void *theirs[512];
static int theirs_count;
static volatile sig_atomic_t within;

/*
 * Under 1.5 KiB of it are for our walk. On arm64 the kernel's frame takes 4.7 KiB and backtrace(3) 5.7, and a CHECK that
 * fails prints through 8 KiB more: of 16 KiB nothing was left, and what lay below was overwritten.
 */
#define SMALL_STACK 65536

/* The frames of the caller's callers, outermost first, are the same; a frame that was interrupted may be off by one. */
static __attribute__((noinline)) void compare(void)
{
	unsigned same = 0;

	theirs_count = backtrace(theirs, 512);
	ebbi_unwind(&ours);
	CHECK(ours.count > 2 && theirs_count > 2);
	if (ours.count < EBBI_FRAMES_MOST) {
		for (; same < ours.count && same < (unsigned)theirs_count; same++) {
			uint64_t mine = ours.addresses[ours.count - 1 - same];
			uint64_t other = (uint64_t)theirs[(unsigned)theirs_count - 1 - same];

			if (mine != other && mine != other + 1)
				break;
		}
		/* All but this function's own frame, and ebbi_unwind's. A sanitizer's backtrace has a frame of its own. */
		CHECK_EQ(same, (unsigned)theirs_count - 1 - EBB_SANITIZED);
		CHECK_EQ(ours.count, same + 2);
	}
	for (unsigned i = 0; i < ours.count; i++)
		CHECK(ours.modules[i] != 0);
}

static __attribute__((noinline)) int deep(unsigned depth)
{
	volatile char room[100];

	room[0] = (char)depth;
	if (depth == 0)
		compare();
	else
		(void)deep(depth - 1);
	return room[0];
}

static int by_qsort(const void *a, const void *b)
{
	(void)a;
	(void)b;
	compare();
	return 0;
}

/* Its frame is found by the frame pointer, for its length is not known. */
static __attribute__((noinline)) int with_alloca(size_t bytes)
{
	volatile char *room = __builtin_alloca(bytes);

	room[0] = 1;
	compare();
	return room[0];
}

/* Its stack pointer is rounded down, so that the frame's address is an expression. */
static __attribute__((noinline)) int aligned(int count)
{
	_Alignas(64) volatile char room[128];
	volatile char *more = __builtin_alloca((size_t)count);

	room[0] = 1;
	more[0] = 2;
	compare();
	CHECK_EQ((uintptr_t)room % 64, 0);
	return room[0] + more[0];
}

TEST(shapes)
{
	int numbers[2] = {2, 1};

	CHECK(ebbi_tables_make());
	compare();
	for (unsigned depth = 0; depth < 40; depth++)
		(void)deep(depth);
	for (unsigned i = 0; i < 3; i++) {
		qsort(numbers, 2, sizeof(numbers[0]), by_qsort);
		(void)with_alloca(1000 + i);
		(void)aligned(100 + (int)i);
	}
}

/* Of a deep stack the innermost frames are there. */
TEST(too_deep)
{
	CHECK(ebbi_tables_make());
	(void)deep(300);
	CHECK_EQ(ours.count, EBBI_FRAMES_MOST);
}

static void on_signal(int number)
{
	(void)number;
	compare();
	within = 1;
}

static void *in_thread(void *small_stack)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	stack_t stack = {.ss_sp = small_stack, .ss_size = SMALL_STACK};

	compare();
	(void)deep(10);
	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	within = 0;
	CHECK_EQ(raise(SIGUSR1), 0);
	CHECK_EQ(within, 1);
	if (small_stack != NULL) {
		stack_t before;

		CHECK_EQ(sigaltstack(&stack, &before), 0);
		within = 0;
		CHECK_EQ(raise(SIGUSR1), 0);
		CHECK_EQ(within, 1);
		/* ASan gives each thread one, and takes back what it finds. */
		CHECK_EQ(sigaltstack(&before, NULL), 0);
	}
	return NULL;
}

TEST(handlers_and_threads)
{
	static char small_stack[SMALL_STACK];
	pthread_t thread;

	CHECK(ebbi_tables_make());
	compare();
	(void)in_thread(NULL);
	CHECK_EQ(pthread_create(&thread, NULL, in_thread, small_stack), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
}

#if defined(__x86_64__)
static void walk(void)
{
	ebbi_unwind(&ours);
}

/* Code of no file, as a just-in-time compiler makes it: push the frame pointer, call, return. */
TEST(code_of_no_file)
{
	static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
	unsigned unknown = 0;
	void (*made)(void (*)(void));
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t owner;

	CHECK(ebbi_tables_make());
	CHECK(page != MAP_FAILED);
	memcpy(page, code, sizeof(code));
	memcpy(&made, &page, sizeof(made));
	made(walk);
	for (unsigned i = 0; i < ours.count; i++)
		unknown += ours.modules[i] == 0;
	CHECK_EQ(unknown, 1);
	/* Main and the C library lie behind it. */
	CHECK(ours.count > 4 && ours.modules[ours.count - 1] != 0);
	owner = ebbi_stack_owner(&ours);
	CHECK(owner != 0);
	CHECK_EQ(munmap(page, 4096), 0);
}
#endif

/* Garbage for a frame pointer: the walk ends, and nothing is read that is not there. */
TEST(no_fault)
{
	uint64_t word = 1;
	void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE(page != MAP_FAILED);
	CHECK(ebbi_vm_is_readable((uint64_t)&word));
	CHECK(ebbi_vm_is_readable((uint64_t)page));
	CHECK_EQ(munmap(page, 4096), 0);
	CHECK(!ebbi_vm_is_readable(8));
	CHECK(!ebbi_vm_is_readable((uint64_t)page));
}

TEST(shown_names)
{
	static const char *const names[][2] = {
		{"/usr/lib/libduckdb.so.1.2", "libduckdb"},
		{"/usr/lib/libduckdb.so", "libduckdb"},
		{"libx.sock.so.3", "libx.sock"},
		{"/usr/bin/python3.11", "python3.11"},
		{"/usr/lib/_ssl.cpython-311-x86_64-linux-gnu.so", "_ssl.cpython-311-x86_64-linux-gnu"},
		{".so", ".so"},
		{"", ""},
	};
	char name[48];

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		ebbi_module_shown_name(names[i][0], name, sizeof(name));
		CHECK_STR_EQ(name, names[i][1]);
	}
	ebbi_module_shown_name("/usr/lib/libduckdb.so", name, 6);
	CHECK_STR_EQ(name, "libdu");
}

int main(void)
{
	if (!ebbi_objects_known())
		return 0; /* by another C library */
	ebbi_heap_boot();
	ebbi_sampling_start();
	RUN(shapes);
	RUN(too_deep);
	RUN(handlers_and_threads);
#if defined(__x86_64__)
	RUN(code_of_no_file);
#endif
	RUN(no_fault);
	RUN(shown_names);
	return check_report();
}
