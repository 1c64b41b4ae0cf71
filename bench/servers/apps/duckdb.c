/*
 * A small events service on DuckDB, for scripts/bench-servers. `duckdb LIBRARY PORT DIRECTORY MORE_BYTES`
 *
 * The database lies in DIRECTORY. A client sends lines and gets one each: "append N" adds N rows in one transaction, "groups" counts
 * rows by page, "rows" tells how many there are and what DuckDB says that it holds in memory. MORE_BYTES lengthens each row.
 *
 * DuckDB's library brings a jemalloc of its own for its buffers, by names that begin with duckdb_je_: an allocator that is preloaded gets
 * operator new and malloc alone. Compiled with -DWHOLE and -rdynamic this program has these three functions, which come before the
 * library's own, so that all of its memory is malloc's.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MEMORY_LIMIT "128MB"
#define THREADS "2"

#ifdef WHOLE
void *duckdb_je_malloc(size_t bytes);
void *duckdb_je_realloc(void *block, size_t bytes);
void duckdb_je_free(void *block);

void *duckdb_je_malloc(size_t bytes)
{
	return malloc(bytes);
}

void *duckdb_je_realloc(void *block, size_t bytes)
{
	return realloc(block, bytes);
}

void duckdb_je_free(void *block)
{
	free(block);
}
#endif

/* As its C interface lays a result out: six words, of which only its own functions know more. */
struct result {
	uint64_t words[6];
};

/* The functions of its C interface that are used: name, result, arguments. 0 is success. */
#define FUNCTIONS(F) \
	F(create_config, int, (void **config)) \
	F(set_config, int, (void *config, const char *, const char *)) \
	F(open_ext, int, (const char *, void **database, void *config, char **error)) \
	F(connect, int, (void *database, void **connection)) \
	F(query, int, (void *connection, const char *, struct result *)) \
	F(result_error, const char *, (struct result *)) \
	F(value_int64, int64_t, (struct result *, uint64_t column, uint64_t row)) \
	F(row_count, uint64_t, (struct result *)) \
	F(destroy_result, void, (struct result *)) \
	F(appender_create, int, (void *connection, const char *schema, const char *table, void **appender)) \
	F(append_int64, int, (void *appender, int64_t)) \
	F(append_varchar, int, (void *appender, const char *)) \
	F(appender_end_row, int, (void *appender)) \
	F(appender_destroy, int, (void **appender))

#define MEMBER(name, result, arguments) result(*name) arguments;
static struct {
	FUNCTIONS(MEMBER)
} duck;

static void *connection;
static char *more;

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "duckdb: %s: %s\n", what, why != NULL ? why : "failed");
	exit(1);
}

static void load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);

	if (library == NULL)
		fail("library", dlerror());
#define FIND(name, result, arguments) \
	*(void **)&duck.name = dlsym(library, "duckdb_" #name); \
	if (duck.name == NULL) \
		fail("library has no", #name);
	FUNCTIONS(FIND)
}

static void ask(const char *text, struct result *result)
{
	if (duck.query(connection, text, result) != 0)
		fail(text, duck.result_error(result));
}

static void run(const char *text)
{
	struct result result;

	ask(text, &result);
	duck.destroy_result(&result);
}

static int64_t number(const char *text)
{
	struct result result;
	int64_t found;

	ask(text, &result);
	found = duck.value_int64(&result, 0, 0);
	duck.destroy_result(&result);
	return found;
}

static void open_database(const char *directory)
{
	char path[4096];
	void *database;
	void *config;
	char *error = NULL;

	snprintf(path, sizeof(path), "%s/events.duckdb", directory);
	if (duck.create_config(&config) != 0 || duck.set_config(config, "memory_limit", MEMORY_LIMIT) != 0 ||
	    duck.set_config(config, "threads", THREADS) != 0)
		fail("configuration", NULL);
	if (duck.open_ext(path, &database, config, &error) != 0)
		fail(path, error);
	if (duck.connect(database, &connection) != 0)
		fail("connect", NULL);
	run("CREATE TABLE events (moment BIGINT, site BIGINT, session BIGINT, visit BIGINT, path VARCHAR, title VARCHAR,"
	    " referrer VARCHAR, browser VARCHAR, country VARCHAR, more VARCHAR)");
}

/* The same rows in every run. */
static int append_row(void *appender, uint64_t row)
{
	static const char *const browsers[] = {"firefox", "chrome", "safari", "edge"};
	static const char *const countries[] = {"de", "fr", "us", "jp", "br", "in"};
	uint64_t mixed = (row + 1) * UINT64_C(0x9e3779b97f4a7c15);
	char path[96];
	char title[96];
	char referrer[96];

	snprintf(path, sizeof(path), "/articles/%u/page-%u", (unsigned)(mixed >> 40) % 50,
		 (unsigned)(mixed >> 32) % 200);
	snprintf(title, sizeof(title), "Article %u of this site, number %u", (unsigned)(mixed >> 40) % 50,
		 (unsigned)(mixed >> 20) % 1000);
	snprintf(referrer, sizeof(referrer), "https://search%u.example/?q=%x", (unsigned)(mixed >> 50) % 20,
		 (unsigned)(mixed >> 10));
	/* No two rows have the same, so that it does not compress to nothing. */
	if (more[0] != 0)
		memcpy(more, referrer, strlen(referrer));
	return duck.append_int64(appender, (int64_t)(row * 50)) |
	       duck.append_int64(appender, (int64_t)(mixed >> 56) % 20) |
	       duck.append_int64(appender, (int64_t)(mixed >> 8)) |
	       duck.append_int64(appender, (int64_t)(mixed >> 12)) | duck.append_varchar(appender, path) |
	       duck.append_varchar(appender, title) | duck.append_varchar(appender, referrer) |
	       duck.append_varchar(appender, browsers[mixed >> 44 & 3]) |
	       duck.append_varchar(appender, countries[(unsigned)(mixed >> 48) % 6]) |
	       duck.append_varchar(appender, more) | duck.appender_end_row(appender);
}

static void append(uint64_t count)
{
	static uint64_t rows;
	void *appender;

	run("BEGIN");
	if (duck.appender_create(connection, NULL, "events", &appender) != 0)
		fail("appender", NULL);
	for (uint64_t i = 0; i < count; i++)
		if (append_row(appender, rows++) != 0)
			fail("append", NULL);
	if (duck.appender_destroy(&appender) != 0)
		fail("appender", "its rows were not taken");
	run("COMMIT");
}

static void answer(const char *line, FILE *out)
{
	struct result result;

	if (strncmp(line, "append ", 7) == 0) {
		append(strtoull(line + 7, NULL, 10));
		fprintf(out, "ok\n");
	} else if (strcmp(line, "groups\n") == 0) {
		ask("SELECT path, count(*), count(DISTINCT session) FROM events GROUP BY path", &result);
		fprintf(out, "%llu\n", (unsigned long long)duck.row_count(&result));
		duck.destroy_result(&result);
	} else {
		fprintf(out, "%lld %lld\n", (long long)number("SELECT count(*) FROM events"),
			(long long)number("SELECT sum(memory_usage_bytes)::BIGINT FROM duckdb_memory()"));
	}
	fflush(out);
}

static void serve(int port)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int listening = socket(AF_INET, SOCK_STREAM, 0);
	char line[256];

	if (listening < 0 || bind(listening, (struct sockaddr *)&at, sizeof(at)) != 0 || listen(listening, 8) != 0)
		fail("listen", "no such port");
	for (;;) {
		int connected = accept(listening, NULL, NULL);
		FILE *in = connected < 0 ? NULL : fdopen(connected, "r");
		FILE *out = in == NULL ? NULL : fdopen(dup(connected), "w");

		while (out != NULL && fgets(line, sizeof(line), in) != NULL)
			answer(line, out);
		if (out != NULL)
			fclose(out);
		if (in != NULL)
			fclose(in);
	}
}

int main(int argc, char **argv)
{
	size_t more_bytes;

	if (argc != 5)
		fail("usage", "duckdb LIBRARY PORT DIRECTORY MORE_BYTES");
	load(argv[1]);
	more_bytes = strtoull(argv[4], NULL, 10);
	if (more_bytes != 0 && more_bytes < 96)
		fail("usage", "MORE_BYTES is 0 or at least 96");
	more = calloc(more_bytes + 1, 1);
	if (more == NULL)
		fail("memory", NULL);
	memset(more, 'x', more_bytes);
	open_database(argv[3]);
	serve(atoi(argv[2]));
}
