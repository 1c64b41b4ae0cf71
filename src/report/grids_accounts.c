/* Account tables: of one process, and of several runs side by side. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/accounts.h"
#include "report/grids.h"

/* An account, and its bytes in each run; below this in all of them it is summed up with others of its section. */
#define LEAST_BYTES 104857.6
#define RUNS_MOST 24
#define LINES_MOST 256

struct line {
	const char *section;
	const char *name;
	double bytes[RUNS_MOST];
	double most;
};

struct stack {
	size_t runs;
	size_t count;
	struct line lines[LINES_MOST];
};

static int section_number(const char *key)
{
	int i = 0;

	while (i < SECTION_COUNT && strcmp(ebbi_section_key((enum section)i), key) != 0)
		i++;
	return i;
}

static int by_section_and_size(const void *a, const void *b)
{
	const struct line *left = a, *right = b;
	int order = section_number(left->section) - section_number(right->section);

	return order                      ? order
	       : left->most < right->most ? 1
	       : left->most > right->most ? -1
					  : strcmp(left->name, right->name);
}

static struct line *line_for(struct stack *stack, const char *section, const char *name)
{
	for (size_t i = 0; i < stack->count; i++) {
		if (strcmp(stack->lines[i].section, section) == 0 && strcmp(stack->lines[i].name, name) == 0)
			return &stack->lines[i];
	}
	if (stack->count == LINES_MOST)
		return NULL;
	stack->lines[stack->count] = (struct line){.section = section, .name = name};
	return &stack->lines[stack->count++];
}

static void add_run(struct stack *stack, const json_t *accounts)
{
	const json_t *rows = json_object_get(accounts, "rows");

	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		const char *name = json_string_value(json_object_get(row, "name"));
		struct line *line =
			line_for(stack, json_string_value(json_object_get(row, "section")), name ? name : "-");
		double bytes = json_number_value(json_object_get(row, "bytes"));

		if (!line)
			continue;
		line->bytes[stack->runs] += bytes;
		line->most = bytes > line->most ? bytes : -bytes > line->most ? -bytes : line->most;
	}
	stack->runs++;
}

static bool is_small(const struct line *line)
{
	return line->most < LEAST_BYTES;
}

/* Small ones of a section into one line of it, which are the last of it; a single one keeps its name. */
static void sum_small(struct stack *stack)
{
	size_t kept = 0;

	for (size_t i = 0; i < stack->count; i++) {
		struct line line = stack->lines[i];
		struct line *before = kept > 0 ? &stack->lines[kept - 1] : NULL;

		if (!before || !is_small(&line) || !is_small(before) || strcmp(before->section, line.section) != 0) {
			stack->lines[kept++] = line;
			continue;
		}
		before->name = "others";
		for (size_t run = 0; run < stack->runs; run++)
			before->bytes[run] += line.bytes[run];
	}
	stack->count = kept;
}

static void add_line(json_t *grid, const struct stack *stack, const struct line *line, bool exact)
{
	json_t *row = ebbi_grid_row(grid);
	int section = section_number(line->section);

	ebbi_grid_cell(row, "%s", line->name);
	ebbi_grid_cell(row, "%s", section < SECTION_COUNT ? ebbi_section_title((enum section)section) : line->section);
	for (size_t run = 0; run < stack->runs; run++)
		ebbi_grid_cell(row, exact ? "%.0f" : "%.1f", line->bytes[run] / (exact ? 1.0 : 1048576.0));
}

static json_t *stack_grid(struct stack *stack, json_t *grid, bool exact)
{
	struct line sum = {.section = "", .name = "RSS"};

	qsort(stack->lines, stack->count, sizeof(stack->lines[0]), by_section_and_size);
	for (size_t i = 0; i < stack->count; i++) {
		for (size_t run = 0; run < stack->runs; run++)
			sum.bytes[run] += stack->lines[i].bytes[run];
	}
	if (!exact)
		sum_small(stack);
	for (size_t i = 0; i < stack->count; i++)
		add_line(grid, stack, &stack->lines[i], exact);
	add_line(grid, stack, &sum, exact);
	free(stack);
	return grid;
}

static json_t *new_grid(const char *title)
{
	json_t *grid = ebbi_grid_new(title);

	ebbi_grid_column(grid, "account", false);
	ebbi_grid_column(grid, "kind", false);
	return grid;
}

json_t *ebbi_grids_stack(const json_t *report, const json_t *stack, bool exact)
{
	const json_t *runs = json_object_get(stack, "runs");
	struct stack *lines = calloc(1, sizeof(*lines));
	json_t *grid;

	if (!lines)
		return NULL;
	grid = new_grid(json_string_value(json_object_get(stack, "title")));
	for (size_t i = 0; i < json_array_size(runs) && i < RUNS_MOST; i++) {
		size_t index = (size_t)json_integer_value(json_array_get(runs, i));
		const char *name = json_string_value(json_array_get(json_object_get(stack, "names"), i));
		char head[128];

		snprintf(head, sizeof(head), "%.100s, %s", name ? name : "-", exact ? "bytes" : "MiB");
		ebbi_grid_column(grid, head, true);
		add_run(lines, json_object_get(json_array_get(json_object_get(report, "runs"), index), "accounts"));
	}
	return stack_grid(lines, grid, exact);
}

json_t *ebbi_grids_accounts(const json_t *accounts, bool exact)
{
	struct stack *lines = json_array_size(json_object_get(accounts, "rows")) ? calloc(1, sizeof(*lines)) : NULL;
	json_t *grid;

	if (!lines)
		return NULL;
	grid = new_grid("Accounts");
	ebbi_grid_column(grid, exact ? "bytes" : "MiB", true);
	add_run(lines, accounts);
	return stack_grid(lines, grid, exact);
}
