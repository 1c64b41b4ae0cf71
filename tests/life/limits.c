/*
 * Little memory, little address space, few mappings: allocations fail with NULL, nothing else breaks,
 * and all is well when there is room again.
 *   limits as       RLIMIT_AS set 48 MiB above what is in use
 *   limits data     RLIMIT_DATA likewise
 *   limits toggle   RLIMIT_AS jumps between nothing and everything while threads allocate
 *   limits maps     the process has as many mappings as the kernel allows
 */
#include "churn.h"

#include <sys/mman.h>
#include <sys/resource.h>

#define ROOM ((size_t)48 << 20)
#define MOST_BLOCKS 100000

static void *block[MOST_BLOCKS];

static void set_soft_limit(int resource, rlim_t value)
{
	struct rlimit limit;

	CHECK(getrlimit(resource, &limit) == 0, "getrlimit");
	limit.rlim_cur = value < limit.rlim_max ? value : limit.rlim_max;
	CHECK(setrlimit(resource, &limit) == 0, "setrlimit");
}

/* Allocates blocks of `size` until it is refused; returns how many; frees them all. */
static size_t fill_up(size_t size)
{
	size_t count = 0;

	while (count < MOST_BLOCKS) {
		errno = 0;
		block[count] = hide(malloc(size));
		if (block[count] == NULL)
			break;
		memset(block[count], 1, size);
		count++;
	}
	CHECK(count == MOST_BLOCKS || errno == ENOMEM, "a refusal sets ENOMEM");
	for (size_t i = 0; i < count; i++)
		free(block[i]);
	return count;
}

static void *churn_failing(void *argument)
{
	struct churn churn;

	churn_init(&churn, (uintptr_t)argument, 21);
	churn.may_fail = true;
	churn_steps(&churn, 20000);
	churn_free_all(&churn);
	return NULL;
}

static void test_limit(int resource, const char *field)
{
	static const size_t sizes[] = {1000, 10000, 100000, 1 << 20, 5 << 20, 2000};
	pthread_t thread[2];

	for (uintptr_t i = 0; i < 2; i++) /* stacks are there before the limit is */
		check_join(check_thread(churn_failing, (void *)(i + 1)));
	set_soft_limit(resource, (rlim_t)proc_status(field) * 1024 + ROOM);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t first = fill_up(sizes[i]);
		size_t second = fill_up(sizes[i]);

		check_note("%s: %zu KiB in blocks of %zu, then %zu KiB\n", field, first * sizes[i] / 1024, sizes[i],
			   second * sizes[i] / 1024);
		CHECK(first * sizes[i] >= ROOM / 4, "only %zu blocks of %zu bytes", first, sizes[i]);
		CHECK(second * 10 >= first * 7, "%zu blocks of %zu bytes, then only %zu", first, sizes[i], second);
	}
	for (uintptr_t i = 0; i < 2; i++) {
		int error = pthread_create(&thread[i], NULL, churn_failing, (void *)(i + 1));

		if (error != 0)
			thread[i] = 0; /* no room for its stack */
	}
	churn_failing((void *)7);
	for (unsigned i = 0; i < 2; i++)
		if (thread[i] != 0)
			check_join(thread[i]);
	set_soft_limit(resource, RLIM_INFINITY);
	CHECK(fill_up(10000) * 10000 > ROOM, "there is room again");
}

static void test_toggle(void)
{
	struct churn_thread noise[3];
	struct rng rng = {5};

	for (unsigned i = 0; i < 3; i++) {
		noise[i] = (struct churn_thread){.seed = i + 1, .max_bits = 21, .may_fail = true};
		noise[i].thread = check_thread(churn_run, &noise[i]);
	}
	for (unsigned i = 0; i < 200; i++) {
		set_soft_limit(RLIMIT_AS, i % 2 == 0 ? 1 : RLIM_INFINITY);
		if (i % 20 == 0)
			check_purge();
		sleep_ms(1 + (unsigned)rng_below(&rng, 4));
	}
	set_soft_limit(RLIMIT_AS, RLIM_INFINITY);
	for (unsigned i = 0; i < 3; i++)
		churn_stop(&noise[i]);
	CHECK(fill_up(10000) == MOST_BLOCKS, "there is room again");
}

/* Every other page of a range gets other rights, so that each is a mapping of its own. */
static size_t use_up_mappings(uint8_t *range, size_t pages)
{
	size_t done = 0;

	for (size_t i = 0; i < pages; i += 2)
		done += mprotect(range + i * 4096, 4096, PROT_READ) == 0;
	return done;
}

static void test_maps(void)
{
	size_t pages = 140000; /* the kernel's default is 65530 mappings */
	struct churn churn;

	churn_init(&churn, 1, 22);
	churn_steps(&churn, 5000);
	uint8_t *range = mmap(NULL, pages * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(range != MAP_FAILED, "mmap");
	size_t mapped = use_up_mappings(range, pages);
	CHECK(mapped < pages / 2, "this kernel allows more than %zu mappings", mapped);
	churn.may_fail = true;
	churn_steps(&churn, 30000);
	check_purge();
	churn_steps(&churn, 10000);
	CHECK(munmap(range, pages * 4096) == 0, "munmap");
	churn.may_fail = false;
	churn_steps(&churn, 5000);
	check_note("%zu mappings used up; %lu allocations refused\n", 2 * mapped, churn.refused);
	churn_free_all(&churn);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	check_allocator();
	if (strcmp(mode, "as") == 0)
		test_limit(RLIMIT_AS, "VmSize:");
	else if (strcmp(mode, "data") == 0)
		test_limit(RLIMIT_DATA, "VmData:");
	else if (strcmp(mode, "toggle") == 0)
		test_toggle();
	else if (strcmp(mode, "maps") == 0)
		test_maps();
	else
		CHECK(false, "unknown mode '%s'", mode);
	return 0;
}
