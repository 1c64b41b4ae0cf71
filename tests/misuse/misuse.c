/*
 * One misuse for each name (see the table at the end; address-HEX frees that address). The process
 * must die in it with SIGABRT and one line on stderr. The pointer is told on stdout first
 * ("pointer=0x..."), and where the block starts that it points into ("start=0x..."), so that the
 * line can be compared.
 *
 *   misuse NAME          the misuse, which is to be found at once
 *   misuse NAME purge    ... or at the latest when the caches are emptied
 *   misuse NAME exit     ... or at the latest at exit
 *
 * What survives says "late" on stderr.
 */
#include "check.h"

#include <signal.h>
#include <sys/mman.h>

static const char *until = "now";

static void tell(const char *key, const void *pointer)
{
	check_note("%s=%p\n", key, pointer);
}

/* The compiler must not know that this is free(). */
static void (*volatile release)(void *) = free;
static void *(*volatile resize)(void *, size_t) = realloc;
static size_t (*volatile usable)(void *) = malloc_usable_size;

static void *block_of(size_t size)
{
	uint8_t *block = hide(malloc(size));

	CHECK(block != NULL, "malloc");
	memset(block, 1, size < 65536 ? size : 65536);
	return block;
}

static void double_now(void)
{
	void *block = block_of(64);

	tell("pointer", block);
	release(block);
	release(block);
}

static void double_between(void)
{
	void *block = block_of(64);
	void *other = block_of(64);

	tell("pointer", block);
	release(block);
	release(other);
	release(block);
}

/* The first free has long reached the slab, which other blocks keep in use. */
static void double_flushed(void)
{
	enum { BLOCKS = 3000 };
	static void *kept[BLOCKS];

	for (unsigned i = 0; i < BLOCKS; i++)
		kept[i] = block_of(64);
	tell("pointer", kept[BLOCKS / 2]);
	release(kept[BLOCKS / 2]);
	for (unsigned i = 0; i < BLOCKS; i += 7)
		if (i != BLOCKS / 2)
			release(kept[i]);
	check_purge();
	release(kept[BLOCKS / 2]);
}

static void *release_there(void *block)
{
	release(block);
	return NULL;
}

/* The first free happened in a thread that has ended. */
static void double_thread(void)
{
	void *neighbour = block_of(64);
	void *block = block_of(64);

	tell("pointer", block);
	check_join(check_thread(release_there, block));
	release(block);
	free(neighbour);
}

static pthread_barrier_t barrier;

static void *release_and_stay(void *block)
{
	release(block);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return NULL;
}

/* ... or in one that still has it in its cache. */
static void double_sleeper(void)
{
	void *block = block_of(64);

	tell("pointer", block);
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_t thread = check_thread(release_and_stay, block);
	pthread_barrier_wait(&barrier);
	release(block);
	if (strcmp(until, "purge") == 0)
		check_purge();
	pthread_barrier_wait(&barrier);
	check_join(thread);
}

static void double_aligned(void)
{
	void *block = hide(aligned_alloc(1024, 1000));

	tell("pointer", block);
	release(block);
	release(block);
}

static void double_large(void)
{
	void *block = block_of(1 << 20);

	tell("pointer", block);
	release(block);
	release(block);
}

static void double_huge(void)
{
	void *block = block_of((size_t)300 << 20);

	tell("pointer", block);
	release(block);
	release(block);
}

static void double_large_purged(void)
{
	void *before = block_of(200000);
	void *block = block_of(200000);
	void *after = block_of(200000);

	tell("pointer", block);
	release(before); /* the free runs become one */
	release(block);
	release(after);
	check_purge();
	release(block);
}

static void foreign_stack(void)
{
	char local[64] = {0};

	tell("pointer", local);
	release(hide(local));
}

static void foreign_static(void)
{
	static char local[64];

	tell("pointer", local);
	release(hide(local));
}

static void *map_pages(void)
{
	void *pages = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(pages != MAP_FAILED, "mmap");
	return pages;
}

static void foreign_mmap(void)
{
	void *pages = map_pages();

	tell("pointer", pages);
	release(pages);
}

/* The program's own mapping where a block was that is gone. */
static void foreign_reused(void)
{
	size_t size = (size_t)300 << 20;
	void *block = block_of(size);

	release(block);
	check_purge();
	void *pages =
		mmap(block, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	CHECK(pages == block || pages == MAP_FAILED, "mmap");
	tell("pointer", block);
	release(block);
}

static void foreign_realloc(void)
{
	void *pages = map_pages();

	tell("pointer", pages);
	hide(resize(pages, 100));
}

static void foreign_address(uintptr_t address)
{
	void *pointer = (void *)hide_size(address);

	free(block_of(100));
	tell("pointer", pointer);
	release(pointer);
}

static void inside(size_t size, size_t offset)
{
	uint8_t *block = block_of(size);

	tell("start", block);
	tell("pointer", block + offset);
	release(hide(block + offset));
}

static void inside_small_16(void)
{
	inside(64, 16);
}

static void inside_small_8(void)
{
	inside(64, 8);
}

static void inside_small_1(void)
{
	inside(64, 1);
}

static void inside_large_page(void)
{
	inside(1 << 20, 4096);
}

static void inside_large_16(void)
{
	inside(1 << 20, 16);
}

static void inside_large_end(void)
{
	inside(1 << 20, (1 << 20) - 1);
}

static void inside_realloc(void)
{
	uint8_t *block = block_of(64);

	tell("start", block);
	tell("pointer", block + 16);
	hide(resize(hide(block + 16), 1000));
}

static void inside_large_realloc(void)
{
	uint8_t *block = block_of(1 << 20);

	tell("start", block);
	tell("pointer", block + 8192);
	hide(resize(hide(block + 8192), 100));
}

static void after_realloc(void)
{
	void *block = block_of(64);

	tell("pointer", block);
	void *moved = hide(resize(block, 100000));
	CHECK(moved != block, "realloc had to move the block");
	release(block);
}

static void after_large_realloc(void)
{
	void *block = block_of(1 << 20);
	void *neighbour = block_of(1 << 20);

	tell("pointer", block);
	void *moved = hide(resize(block, 5000));
	CHECK(moved != block, "realloc had to move the block");
	release(block);
	free(neighbour);
}

static void realloc_freed(void)
{
	void *block = block_of(64);

	tell("pointer", block);
	release(block);
	hide(resize(block, 100000));
}

/* The size would fit where the block was. */
static void realloc_freed_same(void)
{
	void *block = block_of(64);

	tell("pointer", block);
	release(block);
	hide(resize(block, 60));
}

static void realloc_freed_large(void)
{
	void *block = block_of(1 << 20);

	tell("pointer", block);
	release(block);
	hide(resize(block, 3 << 20));
}

static void usable_foreign(void)
{
	void *pages = map_pages();

	tell("pointer", pages);
	hide_size(usable(pages));
}

static void usable_inside(void)
{
	uint8_t *block = block_of(64);

	tell("start", block);
	tell("pointer", block + 16);
	hide_size(usable(hide(block + 16)));
}

/* A slot that nobody was ever given, beside one that is in use. */
static void never_allocated(void)
{
	uint8_t *block = block_of(2000);

	tell("pointer", block + 10 * 2048);
	release(hide(block + 10 * 2048));
}

/* --- What a hardened heap finds besides ---------------------------------------------------- */

static void write_at(void *block, ptrdiff_t offset, uint8_t value)
{
	volatile uint8_t *at = hide((uint8_t *)block + offset);

	*at = value;
}

/* The commonest of all: a string's final 0 one byte too far. */
static void overflow(size_t size, ptrdiff_t offset, uint8_t value)
{
	uint8_t *block = block_of(size);

	tell("pointer", block);
	write_at(block, offset, value);
	release(block);
}

static void overflow_0(void)
{
	overflow(24, 24, 0);
}

/* Another value than what lies there, which one of 255 would be. */
static void overflow_1(void)
{
	uint8_t *block = block_of(20);

	tell("pointer", block);
	write_at(block, 20, (uint8_t)(block[20] ^ 7));
	release(block);
}

static void overflow_8(void)
{
	overflow(64, 71, 0);
}

static void overflow_neighbour(void)
{
	uint8_t *block = block_of(64);

	tell("pointer", block);
	memset(hide(block), 0x41, 200);
	release(block);
}

static void overflow_realloc(void)
{
	uint8_t *block = block_of(100);

	tell("pointer", block);
	write_at(block, 100, 0);
	hide(resize(block, 3000));
}

static void overflow_run(void)
{
	overflow(40000, 40000, 0);
}

/* By their names: no header of this system has them. */
static void free_said(const char *name, size_t size, size_t said)
{
	void (*function)(void *, size_t) = NULL;
	void *block = block_of(size);

	*(void **)(&function) = dlsym(RTLD_DEFAULT, name);
	CHECK(function != NULL, "no %s", name);
	tell("pointer", block);
	function(hide(block), said);
}

static void sized_small(void)
{
	free_said("free_sized", 100, 99);
}

static void sized_large(void)
{
	free_said("free_sized", 300000, 300001);
}

static void sized_delete(void)
{
	free_said("_ZdlPvm", 24, 32);
}

static void sized_delete_array(void)
{
	free_said("_ZdaPvm", 24, 0);
}

/* Nobody can say which slot comes next, but all free ones are looked at before they are used again. */
static void write_after_free(size_t size, ptrdiff_t offset)
{
	uint8_t *block = block_of(size);

	tell("pointer", block);
	release(block);
	write_at(block, offset, 1);
	for (unsigned i = 0; i < 400; i++)
		release(block_of(size));
}

static void after_free_small(void)
{
	write_after_free(64, 12);
}

static void after_free_slot(void)
{
	write_after_free(5000, 4000);
}

static void after_free_run(void)
{
	write_after_free(50000, 40000);
}

static void after_free_large(void)
{
	write_after_free((size_t)1 << 20, 500000);
}

static void after_free_huge(void)
{
	write_after_free((size_t)9 << 20, (ptrdiff_t)5 << 20);
}

static void read_after_free_large(void)
{
	volatile uint8_t *block = block_of((size_t)1 << 20);

	tell("pointer", (void *)(uintptr_t)block);
	release((void *)(uintptr_t)block);
	(void)block[1000];
}

static void guard_overrun(void)
{
	size_t size = (size_t)1 << 20;
	uint8_t *block = block_of(size);

	tell("pointer", block);
	write_at(block, (ptrdiff_t)size, 1);
}

/* --- The surroundings of the end ---------------------------------------------------------- */

static void on_abort(int number)
{
	void *block[20];

	(void)number;
	for (unsigned i = 0; i < 20; i++)
		block[i] = hide(malloc(1 + i * 500));
	for (unsigned i = 0; i < 20; i++)
		free(block[i]);
	check_write("handled\n", 8);
}

static void with_handler(void)
{
	signal(SIGABRT, on_abort);
	double_now();
}

static void with_ignore(void)
{
	signal(SIGABRT, SIG_IGN);
	double_now();
}

static void with_block(void)
{
	sigset_t set;

	sigfillset(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	foreign_static();
}

static void in_thread(void)
{
	void *block = block_of(64);

	tell("pointer", block);
	release(block);
	check_join(check_thread(release_there, hide((uint8_t *)block + 32)));
}

/* No misuse that anybody must see: freed memory is written to, and the allocator does not care. */
static void scribble(void)
{
	enum { BLOCKS = 2000 };
	static uint8_t *block[BLOCKS];

	for (unsigned round = 0; round < 10; round++) {
		for (unsigned i = 0; i < BLOCKS; i++)
			block[i] = block_of(16 + i % 900);
		for (unsigned i = 0; i < BLOCKS; i++)
			release(block[i]);
		for (unsigned i = 0; i < BLOCKS; i++)
			memset(hide(block[i]), 0xff, 16 + i % 900);
	}
	check_purge();
}

static const struct {
	const char *name;
	void (*run)(void);
} misuses[] = {
	{"double-now", double_now},
	{"double-between", double_between},
	{"double-flushed", double_flushed},
	{"double-thread", double_thread},
	{"double-sleeper", double_sleeper},
	{"double-aligned", double_aligned},
	{"double-large", double_large},
	{"double-huge", double_huge},
	{"double-large-purged", double_large_purged},
	{"foreign-stack", foreign_stack},
	{"foreign-static", foreign_static},
	{"foreign-mmap", foreign_mmap},
	{"foreign-reused", foreign_reused},
	{"foreign-realloc", foreign_realloc},
	{"inside-small-16", inside_small_16},
	{"inside-small-8", inside_small_8},
	{"inside-small-1", inside_small_1},
	{"inside-large-page", inside_large_page},
	{"inside-large-16", inside_large_16},
	{"inside-large-end", inside_large_end},
	{"inside-realloc", inside_realloc},
	{"inside-large-realloc", inside_large_realloc},
	{"after-realloc", after_realloc},
	{"after-large-realloc", after_large_realloc},
	{"realloc-freed", realloc_freed},
	{"realloc-freed-same", realloc_freed_same},
	{"realloc-freed-large", realloc_freed_large},
	{"usable-foreign", usable_foreign},
	{"usable-inside", usable_inside},
	{"never-allocated", never_allocated},
	{"with-handler", with_handler},
	{"with-ignore", with_ignore},
	{"with-block", with_block},
	{"in-thread", in_thread},
	{"overflow-0", overflow_0},
	{"overflow-1", overflow_1},
	{"overflow-8", overflow_8},
	{"overflow-neighbour", overflow_neighbour},
	{"overflow-realloc", overflow_realloc},
	{"overflow-run", overflow_run},
	{"sized-small", sized_small},
	{"sized-large", sized_large},
	{"sized-delete", sized_delete},
	{"sized-delete-array", sized_delete_array},
	{"after-free-small", after_free_small},
	{"after-free-slot", after_free_slot},
	{"after-free-run", after_free_run},
	{"after-free-large", after_free_large},
	{"after-free-huge", after_free_huge},
	{"read-after-free-large", read_after_free_large},
	{"guard-overrun", guard_overrun},
	{"scribble", scribble},
};

int main(int argc, char **argv)
{
	check_allocator();
	CHECK(argc > 1, "usage: see the head of this file");
	if (argc > 2)
		until = argv[2];
	if (strncmp(argv[1], "address-", 8) == 0) {
		foreign_address(strtoull(argv[1] + 8, NULL, 16));
		check_write("late\n", 5);
		return 0;
	}
	for (size_t i = 0; i < sizeof(misuses) / sizeof(misuses[0]); i++) {
		if (strcmp(misuses[i].name, argv[1]) != 0)
			continue;
		misuses[i].run();
		if (strcmp(until, "purge") == 0)
			check_purge();
		if (strcmp(until, "exit") == 0)
			return 0;
		if (strcmp(argv[1], "scribble") != 0)
			check_write("late\n", 5);
		return 0;
	}
	CHECK(false, "unknown misuse %s", argv[1]);
}
