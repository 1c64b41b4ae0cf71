#include "report/verdict_arenas.h"

#include <inttypes.h>

#define SHOWN_MOST 4u

static void figure(FILE *stream, uint64_t bytes, bool exact)
{
	if (exact)
		fprintf(stream, "%14" PRIu64, bytes);
	else
		fprintf(stream, "%11.1f", (double)bytes / 1048576);
}

static void line(FILE *stream, const char *name, const struct arena_fact *arena, bool exact)
{
	fprintf(stream, "  %-20.20s", name);
	figure(stream, arena->resident_bytes, exact);
	figure(stream, arena->live_bytes, exact);
	figure(stream, arena->trimmable_bytes, exact);
	figure(stream, arena->pinned_bytes + arena->top_kept_bytes, exact);
	fputc('\n', stream);
}

static void add(struct arena_fact *sum, const struct arena_fact *one)
{
	sum->resident_bytes += one->resident_bytes;
	sum->live_bytes += one->live_bytes;
	sum->trimmable_bytes += one->trimmable_bytes;
	sum->pinned_bytes += one->pinned_bytes;
	sum->top_kept_bytes += one->top_kept_bytes;
}

void ebbi_arenas_text(FILE *stream, const struct facts *facts, const struct style *style, bool exact)
{
	size_t kept = facts->arena_count < FACTS_ARENAS ? facts->arena_count : FACTS_ARENAS;
	size_t shown = kept > SHOWN_MOST ? SHOWN_MOST - 1 : kept;
	struct arena_fact rest = {0};
	char name[40];
	int width = exact ? 14 : 11;

	if (facts->arena_count < 2)
		return;
	fprintf(stream, "\n  %s%-20s%*s%*s%*s%*s%s\n", style->dim, exact ? "arena, bytes" : "arena, MiB", width,
		"resident", width, "live", width, "trimmable", width, "kept free", style->off);
	for (size_t i = 0; i < kept; i++) {
		if (i >= shown)
			add(&rest, &facts->arenas[i]);
		else
			line(stream, facts->arenas[i].main ? "main" : "of threads", &facts->arenas[i], exact);
	}
	if (kept > shown) {
		snprintf(name, sizeof(name), "%zu smaller", kept - shown);
		line(stream, name, &rest, exact);
	}
	if (facts->arena_count > kept)
		fprintf(stream, "  %s%zu more, smaller still%s\n", style->dim, facts->arena_count - kept, style->off);
}

json_t *ebbi_arenas_json(const struct facts *facts)
{
	json_t *list = json_array();

	for (size_t i = 0; i < facts->arena_count && i < FACTS_ARENAS; i++) {
		const struct arena_fact *arena = &facts->arenas[i];
		json_t *row = json_object();

		json_object_set_new(row, "main", json_boolean(arena->main));
		json_object_set_new(row, "resident_bytes", json_integer((json_int_t)arena->resident_bytes));
		json_object_set_new(row, "live_bytes", json_integer((json_int_t)arena->live_bytes));
		json_object_set_new(row, "trimmable_bytes", json_integer((json_int_t)arena->trimmable_bytes));
		json_object_set_new(row, "pinned_bytes", json_integer((json_int_t)arena->pinned_bytes));
		json_object_set_new(row, "top_kept_bytes", json_integer((json_int_t)arena->top_kept_bytes));
		json_object_set_new(row, "not_walked_bytes", json_integer((json_int_t)arena->not_walked_bytes));
		json_array_append_new(list, row);
	}
	return list;
}
