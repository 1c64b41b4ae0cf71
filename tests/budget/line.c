/*
 * A budget for the whole process, seen from inside: EBB_CONF=budget:64M.
 *   line fill BYTES    blocks of one size, touched, until refused: resident memory stays under the line, ENOMEM is the answer,
 *                      small requests go on, and all of it can be had again after it was freed
 *   line mapping       memory that the program maps itself is refused at the line, too; reservations are not
 *   line api           the functions of ebb.h
 *   line refused       one request above the line, and the process goes on to its end
 */
#include "check.h"

#include <ebb/ebb.h>
#include <poll.h>
#include <sys/mman.h>

#define MIB ((size_t)1 << 20)
#define LINE (64 * MIB)

struct block {
	struct block *next;
};

static struct block *blocks;

static bool take(size_t bytes)
{
	struct block *block = hide(malloc(bytes));

	if (block == NULL)
		return false;
	memset(block, 1, bytes);
	block->next = blocks;
	blocks = block;
	return true;
}

static size_t take_all(size_t bytes)
{
	size_t taken = 0;

	errno = 0;
	while (taken < 4 * LINE && take(bytes))
		taken += bytes;
	CHECK(errno == ENOMEM, "a refusal sets ENOMEM, not %d", errno);
	return taken;
}

static void free_all(void)
{
	while (blocks != NULL) {
		struct block *next = blocks->next;

		free(blocks);
		blocks = next;
	}
}

/* A hundredth, and what the kernel's own counters are off by. */
static void check_resident(void)
{
	size_t resident = (size_t)proc_status("VmRSS:") * 1024;

	check_note("resident %zu KiB, the line is %zu\n", resident >> 10, LINE >> 10);
	CHECK(resident <= LINE + LINE / 100 + MIB, "%zu bytes resident", resident);
}

static void test_fill(size_t bytes)
{
	for (unsigned round = 0; round < 3; round++) {
		size_t taken = take_all(bytes);

		check_resident();
		CHECK(taken > LINE / 4 * 3, "only %zu bytes in blocks of %zu", taken, bytes);
		/* Enough to tell of it. */
		if (bytes > 4096)
			for (unsigned i = 0; i < 200; i++)
				CHECK(take(16 + i * 10), "%u bytes after the refusal", 16 + i * 10);
		check_resident();
		free_all();
	}
}

static void *map(size_t bytes, int protection, int flags)
{
	void *at = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

static void test_mapping(void)
{
	void *maps[256];
	unsigned count = 0;

	errno = 0;
	while (count < 256 && (maps[count] = map(MIB, PROT_READ | PROT_WRITE, 0)) != NULL)
		memset(maps[count++], 1, MIB);
	CHECK(errno == ENOMEM && count > 40 && count < 64, "%u MiB mapped, errno %d", count, errno);
	check_resident();
	/* What the others have leaves less to the heap. */
	CHECK(hide(malloc(8 * MIB)) == NULL, "malloc beside them");
	/* No memory yet, or not meant to be used. */
	void *reserved = map(32 * MIB, PROT_NONE, 0);
	void *unpromised = map(32 * MIB, PROT_READ | PROT_WRITE, MAP_NORESERVE);
	void *sparse = map(4096 * MIB, PROT_READ | PROT_WRITE, 0);
	CHECK(reserved != NULL && unpromised != NULL && sparse != NULL, "a reservation was refused");
	while (count > 0)
		CHECK(munmap(maps[--count], MIB) == 0, "munmap");
	usleep(50000);
	CHECK(take(40 * MIB), "malloc after they are gone");
	free_all();
}

static unsigned calls;

static void on_pressure(unsigned pressure)
{
	CHECK(pressure >= 900 && pressure <= 1000, "pressure %u", pressure);
	calls++;
	if (pressure == 1000)
		free_all();
}

static void test_api(void)
{
	struct pollfd event = {.events = POLLIN};

	CHECK(ebb_budget_get() == LINE, "the line is at %zu", ebb_budget_get());
	CHECK(ebb_pressure() < 500, "pressure %u", ebb_pressure());
	CHECK(ebb_on_pressure(on_pressure, 0) == -1 && errno == EINVAL, "level 0");
	CHECK(ebb_off_pressure(on_pressure) == -1 && errno == ENOENT, "not registered");
	CHECK(ebb_on_pressure(on_pressure, 900) == 0, "ebb_on_pressure");
	event.fd = ebb_pressure_fd(850);
	CHECK(event.fd >= 0, "ebb_pressure_fd");
	CHECK(poll(&event, 1, 0) == 0, "readable before");
	while (ebb_pressure() < 950 && take(100000))
		;
	CHECK(calls == 1, "%u calls at level 900", calls);
	CHECK(poll(&event, 1, 0) == 1, "readable at level 850");
	/* The callback frees everything when it is asked, so this is never refused. */
	for (unsigned i = 0; i < 3000; i++)
		CHECK(take(100000), "block %u", i);
	CHECK(calls > 2, "%u calls", calls);
	CHECK(ebb_off_pressure(on_pressure) == 0, "ebb_off_pressure");
	free_all();
	CHECK(ebb_budget_set(0) == 0 && ebb_budget_get() == 0 && ebb_pressure() == 0, "no budget");
	CHECK(take(2 * LINE), "without a budget");
	free_all();
	CHECK(ebb_budget_set(100) == -1 && errno == EINVAL, "a line of 100 bytes");
	CHECK(ebb_budget_set(2 * LINE) == 0 && ebb_budget_get() == 2 * LINE, "another line");
	struct ebb_snapshot now;
	CHECK(ebb_snapshot(&now, sizeof(now)) == 0, "ebb_snapshot");
	CHECK(now.budget_bytes == 2 * LINE && now.process_bytes > 0 && now.process_most_bytes >= now.process_bytes,
	      "figures");
	CHECK(close(event.fd) == 0, "close");
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	check_allocator();
	if (strcmp(mode, "fill") == 0)
		test_fill(argc > 2 ? strtoul(argv[2], NULL, 10) : 1000);
	else if (strcmp(mode, "mapping") == 0)
		test_mapping();
	else if (strcmp(mode, "api") == 0)
		test_api();
	else if (strcmp(mode, "refused") == 0)
		CHECK(hide(malloc(60 * MIB)) != NULL ? hide(malloc(60 * MIB)) == NULL : true, "twice 60 MiB");
	else
		CHECK(false, "unknown mode '%s'", mode);
	return 0;
}
