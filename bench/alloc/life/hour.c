/*
 * hour: an hour of a server's life in a minute. A simulated minute is a second of
 * ten ticks; four threads serve, a fifth keeps house.
 *
 *   load       a ramp, two days with a night between them, a peak, the evening
 *   requests   10 to 60 short-lived objects each, 64 in flight a thread
 *   cache      entries with a time to live of 2 to 6 minutes, never evicted otherwise
 *   sessions   live 8 to 24 minutes and grow by realloc while they are used
 *   settings   50 000 small objects, read anew every 8 minutes; old and new overlap
 *   reports    twelve buffers of 128 KiB to 3 MiB, replaced through the nights
 *   release    after minute 36 the cached values and the requests are larger
 *
 * Nothing leaks: what is cached expires, and the thread that keeps house frees it, so
 * most of what lives long is freed by another thread than made it. The threads go in
 * step (serve, keep house, sleep until the next tick), so that each allocator gets the
 * same requests. Once a minute the anonymous RSS and the live bytes are noted; after
 * the hour come the resting samples of rest.h.
 */
#include "../rest/rest.h"

#define MINUTES 60u
#define MINUTE_TICKS 10u
#define TICKS (MINUTES * MINUTE_TICKS)
#define SERVERS 4u
#define FLIGHTS 64u
#define FLIGHT_MOST 60u
#define REQUESTS_MOST 250u /* a tick and thread, at full load */
#define STORE_ITEMS 65536u
#define WHEEL (24u * MINUTE_TICKS + 1)
#define SETTINGS 50000u
#define REPORTS 12u
#define RELEASE (36u * MINUTE_TICKS)

/* Objects with an end: lists by the tick in which they end. Index 0 is "none". */
struct store {
	struct slot *slot;
	uint32_t *next;
	uint32_t wheel[WHEEL];
	uint32_t free, used; /* head of the free items; items ever used */
};

struct flight {
	struct slot slot[FLIGHT_MOST];
	uint32_t count;
};

/* Belongs to its thread while the threads serve, to the housekeeper in between. */
struct server {
	struct store cache, sessions;
	struct flight flight[FLIGHTS];
	uint32_t turn;
	int64_t live_bytes;
};

struct minute {
	uint64_t anon_kib, live_kib;
};

static struct {
	struct server *server;
	struct slot *settings, *reports;
	struct sizes request[2], value[2]; /* before and after the release */
	struct minute minute[MINUTES];
	int64_t live_bytes; /* of settings and reports */
	uint32_t late_ticks;
	uint64_t tick_ns, next_ns;
} hour;

/* Load in thousandths at a minute; straight lines in between. */
static const struct {
	uint32_t minute, load;
} day[] = {
	{0, 50},    {4, 700},  {12, 1000}, {20, 800}, {24, 120}, {30, 100}, {33, 800},
	{42, 1000}, {46, 250}, {50, 90},   {54, 600}, {57, 200}, {60, 0},
};

static uint32_t load_at(uint32_t tick)
{
	uint32_t i = 1;

	while (day[i].minute * MINUTE_TICKS <= tick)
		i++;
	uint32_t from = day[i - 1].minute * MINUTE_TICKS, span = day[i].minute * MINUTE_TICKS - from;
	return (day[i - 1].load * (span - (tick - from)) + day[i].load * (tick - from)) / span;
}

static void store_init(struct store *s)
{
	s->slot = rest_map(STORE_ITEMS * sizeof(*s->slot));
	s->next = rest_map(STORE_ITEMS * sizeof(*s->next));
	s->used = 1;
}

static int64_t store_add(struct store *s, struct rng *r, uint32_t size, uint32_t end_tick)
{
	uint32_t at = s->free;

	if (at != 0)
		s->free = s->next[at];
	else if (s->used < STORE_ITEMS)
		at = s->used++;
	else
		probe_die("a table is too small");
	object_make(&s->slot[at], r, size);
	s->next[at] = s->wheel[end_tick % WHEEL];
	s->wheel[end_tick % WHEEL] = at;
	return size;
}

static int64_t store_expire(struct store *s, uint32_t tick)
{
	int64_t bytes = 0;

	for (uint32_t at = s->wheel[tick % WHEEL], next; at != 0; at = next) {
		next = s->next[at];
		bytes += s->slot[at].size;
		object_free(&s->slot[at]);
		s->next[at] = s->free;
		s->free = at;
	}
	s->wheel[tick % WHEEL] = 0;
	return bytes;
}

/* A session grows as it is used, by realloc, up to 4 KiB. */
static int64_t session_use(struct store *s, struct rng *r)
{
	struct slot *slot = &s->slot[rng_below(r, s->used)];
	uint32_t size = slot->size + 32 + rng_below(r, 224);

	if (slot->p == NULL || size > 4096)
		return 0;
	stamp_check(slot->p, slot->size, slot->tag);
	int64_t more = (int64_t)size - slot->size;
	slot->p = stamp(need(realloc(slot->p, size)), size, slot->tag);
	slot->size = size;
	return more;
}

static int64_t flight_end(struct flight *f)
{
	int64_t bytes = 0;

	while (f->count > 0) {
		bytes += f->slot[--f->count].size;
		object_free(&f->slot[f->count]);
	}
	return bytes;
}

static int64_t flight_begin(struct flight *f, struct rng *r, const struct sizes *sizes)
{
	uint32_t most = 10 + rng_below(r, FLIGHT_MOST - 9);
	int64_t bytes = 0;

	for (; f->count < most; f->count++) {
		object_make(&f->slot[f->count], r, sizes_pick(sizes, r));
		bytes += f->slot[f->count].size;
	}
	return bytes;
}

static void serve(struct server *s, struct rng *r, uint32_t tick)
{
	int released = tick >= RELEASE;

	for (uint64_t n = (uint64_t)REQUESTS_MOST * load_at(tick) / 1000; n > 0; n--) {
		struct flight *f = &s->flight[s->turn++ % FLIGHTS];
		int64_t live = -flight_end(f);

		live += flight_begin(f, r, &hour.request[released]);
		for (int k = 0; k < 2; k++)
			live += store_add(&s->cache, r, sizes_pick(&hour.value[released], r),
					  tick + 20 + rng_below(r, 41));
		if (rng_below(r, 12) == 0)
			live += store_add(&s->sessions, r, 200, tick + 80 + rng_below(r, 161));
		live += session_use(&s->sessions, r);
		s->live_bytes += live;
	}
}

static void settings_read(struct rng *r)
{
	struct slot *old = hour.settings;

	hour.settings = rest_map(SETTINGS * sizeof(struct slot));
	for (uint32_t i = 0; i < SETTINGS; i++) {
		object_make(&hour.settings[i], r, 24 + rng_below(r, 177));
		hour.live_bytes += hour.settings[i].size;
	}
	if (old == NULL)
		return;
	for (uint32_t i = 0; i < SETTINGS; i++) {
		hour.live_bytes -= old[i].size;
		object_free(&old[i]);
	}
	if (munmap(old, SETTINGS * sizeof(struct slot)) != 0)
		probe_die("cannot unmap the program's own table");
}

static void report_write(struct rng *r, uint32_t tick)
{
	struct slot *s = &hour.reports[tick % REPORTS];
	int night = (tick >= 24 * MINUTE_TICKS && tick < 30 * MINUTE_TICKS) ||
		    (tick >= 47 * MINUTE_TICKS && tick < 52 * MINUTE_TICKS);

	if (s->p != NULL) {
		hour.live_bytes -= s->size;
		object_free(s);
	}
	if (night) {
		object_make(s, r, (128u << 10) + rng_below(r, (3u << 20) - (128u << 10)));
		hour.live_bytes += s->size;
	}
}

static void note_minute(uint32_t tick)
{
	struct minute *m = &hour.minute[tick / MINUTE_TICKS];
	struct probe_memory memory;
	int64_t live = hour.live_bytes;

	for (uint32_t i = 0; i < SERVERS; i++)
		live += hour.server[i].live_bytes;
	probe_read_memory(&memory);
	m->anon_kib = memory.anon_kib;
	m->live_kib = (uint64_t)live / 1024;
}

static void keep_house(struct rng *r, uint32_t tick)
{
	uint64_t now;

	for (uint32_t i = 0; i < SERVERS; i++) {
		struct server *s = &hour.server[i];

		s->live_bytes -= store_expire(&s->cache, tick) + store_expire(&s->sessions, tick);
	}
	if (tick % (8 * MINUTE_TICKS) == 0)
		settings_read(r);
	report_write(r, tick);
	if (tick % MINUTE_TICKS == MINUTE_TICKS - 1)
		note_minute(tick);
	now = bench_now_ns();
	hour.next_ns = (hour.next_ns == 0 ? now : hour.next_ns) + hour.tick_ns;
	if (hour.next_ns + hour.tick_ns < now) { /* the machine was busy: the hour gets longer */
		hour.late_ticks++;
		hour.next_ns = now;
	}
	rest_sleep_until(hour.next_ns);
}

/* What is left goes to the worker's table, where the survivors are counted. */
static void store_hand_over(struct store *s, struct table *t)
{
	for (uint32_t i = 1; i < s->used; i++)
		if (s->slot[i].p != NULL)
			table_take(t, &s->slot[i]);
}

static void live(struct worker *w)
{
	for (uint32_t tick = 0; tick < TICKS; tick++) {
		pthread_barrier_wait(&w->rest->together);
		if (w->index > 0)
			serve(&hour.server[w->index - 1], &w->rng, tick);
		pthread_barrier_wait(&w->rest->together);
		if (w->index == 0)
			keep_house(&w->rng, tick);
	}
	pthread_barrier_wait(&w->rest->together);
	if (w->index == 0) {
		for (uint32_t i = 0; i < SETTINGS; i++)
			table_take(&w->table, &hour.settings[i]);
		return;
	}
	struct server *s = &hour.server[w->index - 1];
	for (uint32_t i = 0; i < FLIGHTS; i++)
		flight_end(&s->flight[i]);
	store_hand_over(&s->cache, &w->table);
	store_hand_over(&s->sessions, &w->table);
}

static int tell(char *line, size_t room)
{
	int n = snprintf(line, room, ",\"late_ticks\":%u,\"minutes\":[", hour.late_ticks);

	for (uint32_t i = 0; i < MINUTES; i++)
		n += snprintf(line + n, room - (size_t)n, "%s[%llu,%llu]", i == 0 ? "" : ",",
			      (unsigned long long)hour.minute[i].anon_kib, (unsigned long long)hour.minute[i].live_kib);
	n += snprintf(line + n, room - (size_t)n, "]");
	return n;
}

static void prepare(struct rest *rest)
{
	struct rng r;

	/* A smoke run has shorter ticks, not less to do: the hour is what it is. */
	hour.tick_ns = (uint64_t)(100e6 * (rest->bench.scale < 1.0 ? rest->bench.scale : 1.0));
	rng_seed(&r, 60);
	for (int i = 0; i < 2; i++) {
		sizes_lognormal(&hour.request[i], &r, i == 0 ? 120 : 180, 1.5, 16, 64 << 10);
		sizes_lognormal(&hour.value[i], &r, i == 0 ? 300 : 900, 1.2, 24, 32 << 10);
	}
	hour.server = rest_map(SERVERS * sizeof(*hour.server));
	hour.reports = rest_map(REPORTS * sizeof(struct slot));
	for (uint32_t i = 0; i < SERVERS; i++) {
		store_init(&hour.server[i].cache);
		store_init(&hour.server[i].sessions);
	}
}

int main(int argc, char **argv)
{
	static struct rest rest = {
		.name = "hour",
		.threads = SERVERS + 1,
		.table_capacity = 2 * STORE_ITEMS,
		.work = live,
		.prepare = prepare,
		.tell = tell,
	};

	return rest_main(&rest, argc, argv);
}
