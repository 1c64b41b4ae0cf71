/* What `ebb watch` reads: mappings, stack pointers, control groups, ledgers. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "check.h"
#include "observe/holdings.h"
#include "observe/ledger.h"
#include "observe/smaps.h"
#include "observe/threads.h"

struct seen {
	unsigned count;
	uint64_t rss, swap, lazyfree;
	char last[64];
};

static int see(void *context, const struct smaps_mapping *mapping)
{
	struct seen *seen = context;

	seen->count++;
	seen->rss += mapping->rss_bytes;
	seen->swap += mapping->swap_bytes;
	seen->lazyfree += mapping->lazyfree_bytes;
	ebbi_text_copy(&mapping->map.path, seen->last, sizeof(seen->last));
	return 0;
}

TEST(smaps)
{
	static const char recorded[] =
		"55d0-55d2 r--p 00000000 fe:00 18624                      /usr/bin/re dis (deleted)\n"
		"Size:                  8 kB\nRss:                   4 kB\nPss:  2 kB\n"
		"Anonymous:             0 kB\nLazyFree:              0 kB\nSwap:                  0 kB\n"
		"VmFlags: rd mr mw me sd \n"
		"7f00-7f90 rw-p 00000000 00:00 0 \n"
		"Rss:                 100 kB\nLazyFree:             12 kB\nSwap:                  8 kB\n"
		"NewField:  99999999999999999999 kB\nRss: what\n"
		"7ffd-7fff rw-p 00000000 00:00 0                          [stack]\n"
		"Rss:                  20 kB\n";
	struct seen seen = {0};
	struct smaps_parser parser = {.each = see, .context = &seen};
	struct text text = ebbi_text(recorded, sizeof(recorded) - 1), line;

	while (ebbi_text_line(&text, &line))
		CHECK_EQ(ebbi_smaps_line(&parser, &line), 0);
	CHECK_EQ(ebbi_smaps_end(&parser), 0);
	CHECK_EQ(seen.count, 3u);
	CHECK_EQ(seen.rss, 124u << 10);
	CHECK_EQ(seen.swap, 8u << 10);
	CHECK_EQ(seen.lazyfree, 12u << 10);
	CHECK_STR_EQ(seen.last, "[stack]");
	memset(&seen, 0, sizeof(seen));
	CHECK_EQ(ebbi_proc_smaps(getpid(), see, &seen), 0);
	CHECK_GT(seen.rss, 0u);
}

TEST(stack_pointers)
{
	static const char sleeping[] = "202 0x7f8e 0x80 0x1 0x0 0x0 0x0 0x7ffd1230 0x7f8e6c003f23\n";

	CHECK_EQ(ebbi_parse_stack_pointer(sleeping, sizeof(sleeping) - 1), 0x7ffd1230u);
	CHECK_EQ(ebbi_parse_stack_pointer("-1 0x7ffd1230 0x7f8e\n", 21), 0x7ffd1230u);
	CHECK_EQ(ebbi_parse_stack_pointer("running\n", 8), 0u);
	CHECK_EQ(ebbi_parse_stack_pointer("", 0), 0u);
}

static sem_t ready, over;

static void *sleeper(void *name)
{
	volatile char deep[400000];

	prctl(PR_SET_NAME, name);
	for (size_t i = 0; i < sizeof(deep); i += 4096)
		deep[i] = 1;
	sem_post(&ready);
	while (sem_wait(&over) != 0)
		;
	return NULL;
}

static const struct holding *find(const struct holdings *holdings, enum holder holder, const char *name)
{
	for (size_t i = 0; i < holdings->count; i++) {
		if (holdings->all[i].holder == holder && strcmp(holdings->all[i].name, name) == 0)
			return &holdings->all[i];
	}
	return NULL;
}

/* Read from a child, as from outside: the parent's threads sleep then. */
TEST(holdings)
{
	static struct holdings holdings;
	pthread_t threads[3];
	char *shared = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const struct holding *stacks;
	uint64_t sum = 0;

	memset(shared, 1, 1 << 20);
	sem_init(&ready, 0, 0);
	sem_init(&over, 0, 0);
	for (unsigned i = 0; i < 3; i++)
		REQUIRE(pthread_create(&threads[i], NULL, sleeper, (void *)(i < 2 ? "worker" : "other")) == 0);
	for (unsigned i = 0; i < 3; i++)
		sem_wait(&ready);
	REQUIRE(ebbi_holdings_read(getpid(), &holdings) == 0);
	for (size_t i = 0; i < holdings.count; i++)
		sum += holdings.all[i].rss_bytes;
	CHECK_EQ(sum, holdings.rss_bytes);
	stacks = find(&holdings, HOLDER_STACK, "worker");
	REQUIRE(stacks != NULL);
	CHECK_EQ(stacks->mappings, 2u);
	CHECK_GE(stacks->rss_bytes, 800000u);
	CHECK(find(&holdings, HOLDER_STACK, "other") && find(&holdings, HOLDER_STACK, "main"));
	CHECK_GE(ebbi_holdings_of(&holdings, HOLDER_SHARED), 1u << 20);
	CHECK_GT(ebbi_holdings_of(&holdings, HOLDER_OBJECT), 0u);
	for (unsigned i = 0; i < 3; i++)
		sem_post(&over);
	for (unsigned i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	munmap(shared, 1 << 20);
}

static struct ledger_plan plan_of(const char *text)
{
	struct ledger_plan plan = {0};
	char message[LEDGER_MESSAGE] = "";

	if (ebbi_ledger_parse(text, &plan, message) != 0)
		fprintf(stderr, "%s\n", message);
	return plan;
}

static uint64_t extracted(const char *ledger, const char *answer)
{
	struct ledger_plan plan = plan_of(ledger);
	uint64_t value = 0;

	return ebbi_ledger_extract(&plan, answer, strlen(answer), &value) ? value : UINT64_MAX;
}

TEST(ledger_plans)
{
	struct ledger_plan plan = plan_of("redis=redis:10.0.0.1:6380");
	char message[LEDGER_MESSAGE];
	static const char *const wrong[] = {
		"", "x", "=x", "x=", "a=redis:9", "a=redis:h:x", "a=prometheus", "a=clickhouse#x"};

	CHECK_EQ(plan.kind, LEDGER_REDIS);
	CHECK_STR_EQ(plan.name, "redis");
	CHECK_STR_EQ(plan.target, "10.0.0.1");
	CHECK_STR_EQ(plan.port, "6380");
	plan = plan_of("db=clickhouse");
	CHECK_EQ(plan.kind, LEDGER_URL);
	CHECK(strncmp(plan.target, "http://127.0.0.1:8123/?query=", 29) == 0);
	plan = plan_of("go=prometheus:127.0.0.1:9091#go_memstats_heap_inuse_bytes");
	CHECK_STR_EQ(plan.target, "http://127.0.0.1:9091/metrics");
	CHECK_STR_EQ(plan.key, "go_memstats_heap_inuse_bytes");
	plan = plan_of("a=http://h/x?y=1#a.b");
	CHECK_EQ(plan.form, FORM_JSON);
	CHECK_STR_EQ(plan.target, "http://h/x?y=1");
	CHECK_STR_EQ(plan.key, "a.b");
	CHECK_EQ(plan_of("a=redis-cli info | grep x").kind, LEDGER_COMMAND);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		CHECK_EQ(ebbi_ledger_parse(wrong[i], &plan, message), -EINVAL);
}

TEST(ledger_answers)
{
	CHECK_EQ(extracted("a=x", "used: 123 bytes of 5"), 123u);
	CHECK_EQ(extracted("a=x", "18446744073709551615\n"), UINT64_MAX);
	CHECK_EQ(extracted("a=x", "1.5e3"), 1500u);
	CHECK_EQ(extracted("a=x", "nothing"), UINT64_MAX);
	CHECK_EQ(extracted("a=http://h#m.0.b", "{\"m\":[{\"b\":42}]}"), 42u);
	CHECK_EQ(extracted("a=http://h#m", "{\"m\":\"9007199254740993\"}"), 9007199254740993u);
	CHECK_EQ(extracted("a=http://h#m", "{\"m\":-1}"), UINT64_MAX);
	CHECK_EQ(extracted("a=http://h#m.x", "{\"m\":1}"), UINT64_MAX);
	CHECK_EQ(extracted("a=http://h#m", "{\"m\":"), UINT64_MAX);
	CHECK_EQ(extracted("a=duckdb", "{\"meta\":[{\"type\":\"Int64\"}],\"data\":[[\"77\"]]}"), 77u);
	CHECK_EQ(extracted("a=redis", "$99\r\n# Memory\r\nused_memory:1024\r\nused_memory_rss:5\r\n"), 1024u);
	CHECK_EQ(extracted("a=redis", "# Memory\r\nx_used_memory:1\r\n"), UINT64_MAX);
	CHECK_EQ(extracted("a=prometheus:h:1#m", "# HELP m 5\nm_other 1\nm{a=\"x\"} 2\nm{a=\"y\"} 3e0\n"), 5u);
	CHECK_EQ(extracted("a=prometheus:h:1#m", "# HELP m 5\n"), UINT64_MAX);
}

TEST(ledger_of_a_command)
{
	struct ledger_plan plan = plan_of("a=echo 4242");
	struct ledger ledger;

	REQUIRE(ebbi_ledger_open(&ledger, &plan, 10000000) == 0);
	CHECK(!ledger.last.known);
	ebbi_ledger_update(&ledger, 20000);
	CHECK(ledger.last.known);
	CHECK_EQ(ledger.last.bytes, 4242u);
	ebbi_ledger_close(&ledger);
	plan = plan_of("a=exit 3");
	REQUIRE(ebbi_ledger_open(&ledger, &plan, 10000000) == 0);
	ebbi_ledger_update(&ledger, 20000);
	CHECK(!ledger.last.known);
	CHECK_STR_EQ(ledger.last.problem, "the command failed");
	ebbi_ledger_close(&ledger);
}

int main(void)
{
	RUN(smaps);
	RUN(stack_pointers);
	RUN(holdings);
	RUN(ledger_plans);
	RUN(ledger_answers);
	RUN(ledger_of_a_command);
	return check_report();
}
