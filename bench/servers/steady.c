/*
 * steady RATE SECONDS [SEED]: a server that is asked RATE times a second, whatever it answers, by 4 threads.
 *
 * A request has a body of 1 to 200 KB. It is received in pieces into a buffer that grows, cut into fields, each with a node
 * and a string of its own, answered from a buffer that grows, and freed; the last 64 answers stay, as a cache.
 *
 * Prints one line of JSON: requests, CPU nanoseconds and faults of the process (the allocator's own thread included)
 * since two seconds after the start, a checksum of the answers. For bench/servers/steady.py.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { THREADS = 4, KEPT = 64, PIECE = 16384, WARM_UP_SECONDS = 2 };

struct field {
	struct field *next;
	char *text;
	size_t length;
};

struct figures {
	uint64_t cpu_ns;
	uint64_t faults;
};

static double rate;
static uint64_t seed;
static uint64_t requests;
static struct timespec start;
static uint64_t next_request; /* atomic */
static uint64_t checksum;     /* atomic */
static char pattern[1 << 18];

static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static char *kept[KEPT]; /* guarded by kept_lock */

static void *must(void *block)
{
	if (block == NULL) {
		fputs("steady: out of memory\n", stderr);
		exit(1);
	}
	return block;
}

/* splitmix64: the same requests in every run. */
static uint64_t mix(uint64_t value)
{
	value += 0x9e3779b97f4a7c15u;
	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
	value = (value ^ value >> 27) * 0x94d049bb133111ebu;
	return value ^ value >> 31;
}

/* 1 to 200 KB, as many small as large ones on a logarithmic scale. */
static size_t body_bytes(uint64_t chance)
{
	size_t bytes = 1000;

	for (unsigned i = 0; i < 8; i++)
		bytes = chance >> i & 1 ? bytes * 194 / 100 : bytes;
	return bytes - (chance >> 8) % (bytes / 4);
}

static char *receive(size_t bytes, uint64_t chance)
{
	char *body = NULL;

	for (size_t have = 0; have < bytes;) {
		size_t piece = bytes - have < PIECE ? bytes - have : PIECE;

		body = must(realloc(body, have + piece + 1));
		memcpy(body + have, pattern + (chance + have) % (sizeof(pattern) - PIECE), piece);
		have += piece;
	}
	body[bytes] = 0;
	return body;
}

static struct field *parse(const char *body, size_t bytes)
{
	struct field *first = NULL;
	struct field **end = &first;

	for (size_t at = 0; at < bytes;) {
		const char *comma = memchr(body + at, ',', bytes - at);
		size_t length = comma == NULL ? bytes - at : (size_t)(comma - (body + at));
		struct field *field = must(malloc(sizeof(*field)));

		field->text = must(malloc(length + 1));
		memcpy(field->text, body + at, length);
		field->text[length] = 0;
		field->length = length;
		field->next = NULL;
		*end = field;
		end = &field->next;
		at += length + 1;
	}
	return first;
}

static char *answer(const struct field *field, size_t *ret_bytes)
{
	size_t room = 256;
	size_t used = 0;
	char *text = must(malloc(room));

	for (; field != NULL; field = field->next) {
		while (used + field->length + 3 > room)
			text = must(realloc(text, room *= 2));
		text[used++] = '"';
		for (size_t i = 0; i < field->length; i++)
			text[used++] = (char)(field->text[i] ^ 1);
		text[used++] = '"';
	}
	text[used] = 0;
	*ret_bytes = used;
	return text;
}

static void release(struct field *field)
{
	while (field != NULL) {
		struct field *next = field->next;

		free(field->text);
		free(field);
		field = next;
	}
}

static void serve(uint64_t number)
{
	uint64_t chance = mix(number ^ seed << 32);
	size_t bytes = body_bytes(chance);
	char *body = receive(bytes, chance);
	struct field *fields = parse(body, bytes);
	size_t answered;
	char *text = answer(fields, &answered);
	uint64_t sum = mix(number + answered);
	char *old;

	for (size_t i = 0; i < answered; i += 64)
		sum += (unsigned char)text[i];
	release(fields);
	free(body);
	text = must(realloc(text, answered + 1));
	pthread_mutex_lock(&kept_lock);
	old = kept[number % KEPT];
	kept[number % KEPT] = text;
	pthread_mutex_unlock(&kept_lock);
	free(old);
	__atomic_fetch_add(&checksum, sum, __ATOMIC_RELAXED);
}

static struct figures figures(void)
{
	struct timespec cpu;
	struct rusage usage;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	getrusage(RUSAGE_SELF, &usage);
	return (struct figures){(uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec, (uint64_t)usage.ru_minflt};
}

static void sleep_until(double seconds)
{
	struct timespec until = start;

	until.tv_sec += (time_t)seconds;
	until.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0)
		;
}

static void *work(void *unused)
{
	uint64_t number;

	while ((number = __atomic_fetch_add(&next_request, 1, __ATOMIC_RELAXED)) < requests) {
		sleep_until((double)number / rate);
		serve(number);
	}
	return unused;
}

int main(int count, char **words)
{
	pthread_t threads[THREADS];
	struct figures before;
	struct figures after;

	if (count < 3 || count > 4 || (rate = atof(words[1])) <= 0 || atof(words[2]) <= WARM_UP_SECONDS) {
		fputs("usage: steady RATE SECONDS [SEED]\n", stderr);
		return 2;
	}
	seed = count == 4 ? strtoull(words[3], NULL, 10) : 1;
	requests = (uint64_t)(rate * atof(words[2]));
	for (size_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = mix(i) % 40 == 0 ? ',' : (char)('a' + mix(i) % 23);
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (unsigned i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, NULL) != 0)
			return 1;
	sleep_until(WARM_UP_SECONDS);
	before = figures();
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	after = figures();
	printf("{\"requests\": %llu, \"cpu_ns\": %llu, \"faults\": %llu, \"checksum\": %llu}\n",
	       (unsigned long long)(requests - (uint64_t)(rate * WARM_UP_SECONDS)),
	       (unsigned long long)(after.cpu_ns - before.cpu_ns), (unsigned long long)(after.faults - before.faults),
	       (unsigned long long)checksum);
	return 0;
}
