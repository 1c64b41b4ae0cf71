/* The account table, which sums up to RSS whatever it is made of; its forms for machines; the screen. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "report/view.h"

#define MIB ((uint64_t)1 << 20)

static struct look look;
static struct account_table table;

static void hold(enum holder holder, const char *name, uint64_t bytes)
{
	struct holding *at = &look.holdings.all[look.holdings.count++];

	*at = (struct holding){.holder = holder, .mappings = 1, .rss_bytes = bytes};
	snprintf(at->name, sizeof(at->name), "%s", name);
	look.holdings.rss_bytes += bytes;
}

/* A process under Ebb: 40 MiB of anonymous memory, of which 37 are explained. */
static void on_ebb(void)
{
	struct ebb_snapshot *snapshot = &look.snapshot;

	memset(&look, 0, sizeof(look));
	snprintf(look.command, sizeof(look.command), "a \"server\"");
	look.pid = 4711;
	look.at_ns = 1;
	hold(HOLDER_OBJECT, "server", 5 * MIB);
	hold(HOLDER_OBJECT, "libc.so.6", 2 * MIB);
	hold(HOLDER_STACK, "main", MIB / 2);
	hold(HOLDER_ANONYMOUS, "anonymous", 40 * MIB);
	hold(HOLDER_FILE, "data.db", 3 * MIB);
	snapshot->live_bytes = 30 * MIB;
	snapshot->held_cache_bytes = MIB;
	snapshot->held_hole_bytes = 2 * MIB;
	snapshot->held_slack_bytes = 2 * MIB;
	snapshot->held_run_bytes = MIB;
	snapshot->metadata_bytes = MIB;
	snapshot->budget_bytes = 100 * MIB;
}

static int64_t row(enum section section, const char *name)
{
	for (size_t i = 0; i < table.count; i++) {
		if (table.rows[i].section == section && strcmp(table.rows[i].name, name) == 0)
			return table.rows[i].bytes;
	}
	return INT64_MIN;
}

static void make(void)
{
	int64_t rows = 0, sections = 0;

	ebbi_accounts_make(&look, &table);
	for (size_t i = 0; i < table.count; i++)
		rows += table.rows[i].bytes;
	for (size_t i = 0; i < SECTION_COUNT; i++)
		sections += table.sections[i];
	CHECK_EQ(rows, (int64_t)table.rss_bytes);
	CHECK_EQ(sections, (int64_t)table.rss_bytes);
	CHECK_GE(table.sections[SECTION_REST], -(int64_t)table.bound_bytes);
}

TEST(without_accounts)
{
	on_ebb();
	make();
	CHECK_EQ(row(SECTION_LIVE, "not attributed"), (int64_t)(30 * MIB));
	CHECK_EQ(table.sections[SECTION_HELD], (int64_t)(6 * MIB));
	CHECK_EQ(table.sections[SECTION_OBJECTS], (int64_t)(7 * MIB));
	CHECK_EQ(table.sections[SECTION_REST], 0);
	CHECK_EQ(row(SECTION_OTHER, "anonymous: others, or since the figures"), (int64_t)(3 * MIB));
	CHECK_EQ(row(SECTION_OTHER, "file data.db"), (int64_t)(3 * MIB));
	CHECK_EQ(table.live_bytes, 30 * MIB);
}

TEST(accounts_and_owners)
{
	struct ebb_snapshot *snapshot = &look.snapshot;

	on_ebb();
	snapshot->accounts[0] = (struct ebb_account){.name = "tally", .live_bytes = 10 * MIB, .limit_bytes = 12 * MIB};
	snapshot->owners[0] =
		(struct ebb_owner){.name = "libduckdb", .live_bytes = 15 * MIB, .error_bytes = MIB, .samples = 30};
	make();
	CHECK_EQ(row(SECTION_LIVE, "account tally"), (int64_t)(10 * MIB));
	CHECK_EQ(row(SECTION_LIVE, "libduckdb"), (int64_t)(15 * MIB));
	CHECK_EQ(row(SECTION_LIVE, "not attributed"), (int64_t)(5 * MIB));
	/* Estimates beyond what is left are cut down alike. */
	snapshot->owners[0].live_bytes = 30 * MIB;
	snapshot->owners[1] = (struct ebb_owner){.name = "libx", .live_bytes = 10 * MIB};
	make();
	CHECK_EQ(row(SECTION_LIVE, "libduckdb"), (int64_t)(15 * MIB));
	CHECK_EQ(row(SECTION_LIVE, "libx"), (int64_t)(5 * MIB));
	CHECK_EQ(row(SECTION_LIVE, "not attributed"), 0);
	/* Accounts that were read at another moment than the sum. */
	snapshot->accounts[0].live_bytes = 40 * MIB;
	make();
	CHECK_EQ(row(SECTION_LIVE, "account tally"), (int64_t)(30 * MIB));
	CHECK_EQ(row(SECTION_LIVE, "libduckdb"), 0);
	CHECK_EQ(table.sections[SECTION_LIVE], (int64_t)(30 * MIB));
}

TEST(live_memory_that_is_not_resident)
{
	on_ebb();
	look.snapshot.live_bytes = 50 * MIB;
	make();
	CHECK_EQ(row(SECTION_LIVE, "never touched, or swapped out"), -(int64_t)(17 * MIB));
	CHECK_EQ(table.sections[SECTION_LIVE], (int64_t)(33 * MIB));
	CHECK_EQ(table.live_bytes, 33 * MIB);
	CHECK_EQ(table.sections[SECTION_REST], 0);
	/* More is held than there are pages: figures of another moment. What is below 0 is said. */
	look.snapshot.held_run_bytes = 60 * MIB;
	make();
	CHECK_EQ(table.live_bytes, 0u);
	CHECK_LT(table.sections[SECTION_REST], 0);
}

TEST(names_of_mappings)
{
	on_ebb();
	hold(HOLDER_HEAP, "ebb", 38 * MIB);
	hold(HOLDER_NAMED, "v8", 4 * MIB);
	make();
	CHECK_EQ(row(SECTION_OTHER, "anonymous: others"), (int64_t)(40 * MIB));
	CHECK_EQ(row(SECTION_OTHER, "anonymous: v8"), (int64_t)(4 * MIB));
	CHECK_EQ(row(SECTION_OTHER, "heap of libebb ebb"), INT64_MIN);
	/* One MiB of the heap's pages that its figures do not explain. */
	CHECK_EQ(table.sections[SECTION_REST], (int64_t)MIB);
}

TEST(under_another_allocator)
{
	char text[256];

	on_ebb();
	look.snapshot_error = -ENOENT;
	hold(HOLDER_BRK, "[heap]", 9 * MIB);
	make();
	CHECK(!table.on_ebb);
	CHECK_EQ(row(SECTION_OTHER, "allocators: [heap]"), (int64_t)(9 * MIB));
	CHECK_EQ(row(SECTION_OTHER, "anonymous: allocators and others"), (int64_t)(40 * MIB));
	CHECK_EQ(table.sections[SECTION_REST], 0);
	CHECK(!ebbi_accounts_reason(&look, text, sizeof(text)));
	look.snapshot_error = -EPROTO;
	look.snapshot_version = 9;
	CHECK(ebbi_accounts_reason(&look, text, sizeof(text)));
	CHECK(strstr(text, "layout 9") && strstr(text, "newer"));
	look.snapshot_version = 1;
	CHECK(ebbi_accounts_reason(&look, text, sizeof(text)));
	CHECK(strstr(text, "layout 1,") && strstr(text, "older"));
}

/* Ourselves, which run while they are looked at. */
TEST(a_live_process)
{
	static struct looker looker;
	uint64_t objects;

	looker.pid = getpid();
	REQUIRE(ebbi_look(&looker, &look) == 0);
	make();
	objects = ebbi_holdings_of(&look.holdings, HOLDER_OBJECT);
	CHECK_GT(objects, 0u);
	CHECK_GT(row(SECTION_STACKS, "main"), 0);
	CHECK_GT(table.rss_bytes, objects);
	looker.start_ticks++;
	CHECK_EQ(ebbi_look(&looker, &look), -ESRCH);
}

static struct sample sample_of(void)
{
	struct sample sample = {.look = &look, .table = &table, .ledger_count = 2};

	sample.ledgers[0] = (struct ledger_value){.name = "re\"dis", .known = true, .bytes = 20 * MIB};
	sample.ledgers[1] = (struct ledger_value){.name = "other", .problem = "no connection"};
	return sample;
}

static char *printed(void (*print)(FILE *, const struct sample *), const struct sample *sample)
{
	char *text = NULL;
	size_t length = 0;
	FILE *stream = open_memstream(&text, &length);

	print(stream, sample);
	fclose(stream);
	return text;
}

TEST(prometheus)
{
	struct sample sample;
	char *text;

	on_ebb();
	make();
	sample = sample_of();
	text = printed(ebbi_sample_prometheus, &sample);
	CHECK(strstr(text, "# TYPE ebb_process_rss_bytes gauge\nebb_process_rss_bytes{pid=\"4711\",command=\"a "
			   "\\\"server\\\"\"} 52953088\n"));
	CHECK(strstr(text, "# TYPE ebb_process_minor_faults_total counter\nebb_process_minor_faults_total{"));
	CHECK(strstr(text, "section=\"objects\",account=\"libc.so.6\"} 2097152\n"));
	CHECK(strstr(text, ",ledger=\"re\\\"dis\"} 20971520\n"));
	CHECK(!strstr(text, "ledger=\"other\""));
	CHECK(strstr(text, "ebb_stat_held_run_bytes{pid=\"4711\",command=\"a \\\"server\\\"\"} 1048576\n"));
	/* No limit is known: no metric, rather than 0. */
	CHECK(!strstr(text, "cgroup_limit"));
	for (const char *line = text; *line; line = strchr(line, '\n') + 1)
		CHECK(strncmp(line, "ebb_", 4) == 0 || strncmp(line, "# HELP ebb_", 11) == 0 ||
		      strncmp(line, "# TYPE ebb_", 11) == 0);
	free(text);
}

static size_t commas(const char *line)
{
	size_t count = 0;

	for (; *line; line++)
		count += *line == ',';
	return count;
}

TEST(csv_and_json)
{
	struct sample sample;
	char *head, *line;
	json_t *document;

	on_ebb();
	make();
	sample = sample_of();
	head = printed(ebbi_sample_csv_head, &sample);
	line = printed(ebbi_sample_csv, &sample);
	CHECK(strncmp(head, "time,pid,rss_bytes,", 19) == 0);
	CHECK(strstr(head, ",\"ledger_re\"\"dis_bytes\",ledger_other_bytes\n"));
	CHECK_EQ(commas(head), commas(line));
	CHECK(strstr(line, ",20971520,\n"));
	free(head);
	free(line);
	document = ebbi_sample_json(&sample);
	CHECK_STR_EQ(json_string_value(json_object_get(document, "schema")), WATCH_SCHEMA);
	CHECK_EQ(json_integer_value(json_object_get(document, "rss_bytes")), (int64_t)table.rss_bytes);
	CHECK(json_is_null(json_object_get(document, "cgroup_limit_bytes")));
	CHECK_EQ(json_array_size(json_object_get(document, "ledgers")), 2u);
	CHECK(json_is_null(json_object_get(json_array_get(json_object_get(document, "ledgers"), 1), "bytes")));
	json_decref(document);
}

/* A row of the canvas as ASCII. */
static const char *canvas_row(const struct canvas *canvas, unsigned row)
{
	static char text[512];

	for (unsigned i = 0; i < canvas->columns; i++)
		text[i] = canvas->cells[row * canvas->columns + i].text[0];
	text[canvas->columns] = 0;
	return text;
}

static bool on_canvas(const struct canvas *canvas, const char *words)
{
	for (unsigned i = 0; i < canvas->rows; i++) {
		if (strstr(canvas_row(canvas, i), words))
			return true;
	}
	return false;
}

TEST(screen)
{
	static struct view view;
	struct canvas canvas = {0};
	struct sample sample;

	on_ebb();
	make();
	sample = sample_of();
	view.interval_s = 1;
	for (unsigned i = 0; i < 3 * VIEW_POINTS; i++) {
		look.at_ns += 1000000000;
		ebbi_view_add(&view, &sample);
	}
	CHECK_EQ(view.point_count, (size_t)VIEW_POINTS);
	REQUIRE(ebbi_canvas_resize(&canvas, 80, 24) == 0);
	ebbi_view_draw(&canvas, &view, &sample);
	CHECK(on_canvas(&canvas, "a \"server\" (4711), under ebb"));
	CHECK(on_canvas(&canvas, "RSS 50.5 MiB  budget 100.0"));
	CHECK(on_canvas(&canvas, "held 6.0"));
	CHECK(on_canvas(&canvas, "other no connection"));
	CHECK(on_canvas(&canvas, "    100.0 ------"));
	CHECK(on_canvas(&canvas, "binary and libraries"));
	CHECK(!on_canvas(&canvas, "libc.so.6"));
	CHECK(on_canvas(&canvas, "q quit"));
	REQUIRE(ebbi_canvas_resize(&canvas, 160, 50) == 0);
	ebbi_view_draw(&canvas, &view, &sample);
	CHECK(on_canvas(&canvas, "held by kind") && on_canvas(&canvas, "libc.so.6"));
	CHECK(ebbi_view_key(&view, 'h') && view.help);
	ebbi_view_draw(&canvas, &view, &sample);
	CHECK(on_canvas(&canvas, "goes back") && !on_canvas(&canvas, "binary and libraries"));
	CHECK(ebbi_view_key(&view, 'h') && !ebbi_view_key(&view, 'x'));
	/* Every size there is, and every way to look at it. */
	for (unsigned rows = 1; rows < 40; rows += 3) {
		for (unsigned columns = 1; columns < 200; columns += 13) {
			REQUIRE(ebbi_canvas_resize(&canvas, columns, rows) == 0);
			ebbi_view_key(&view, (columns / 13) % 2 ? 's' : 'd');
			ebbi_view_key(&view, VIEW_KEY_PAGE_DOWN);
			ebbi_view_draw(&canvas, &view, &sample);
		}
	}
	ebbi_canvas_free(&canvas);
}

int main(void)
{
	RUN(without_accounts);
	RUN(accounts_and_owners);
	RUN(live_memory_that_is_not_resident);
	RUN(names_of_mappings);
	RUN(under_another_allocator);
	RUN(a_live_process);
	RUN(prometheus);
	RUN(csv_and_json);
	RUN(screen);
	return check_report();
}
