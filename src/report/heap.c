#include "report/heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- Paths ------------------------------------------------------------------------------- */

static void add_sum(struct heap_sum *to, const struct heap_sum *more)
{
	to->bytes += more->bytes;
	to->variance += more->variance;
	to->samples += more->samples;
	to->objects += more->objects;
}

static struct heap_sum site_sum(const struct stacks *stacks, uint32_t site, bool total)
{
	const struct ebb_profile_site *entry = &stacks->profile.sites[site];

	if (total)
		return (struct heap_sum){.bytes = (double)entry->total_bytes, .objects = (double)entry->total_objects};
	return (struct heap_sum){.bytes = (double)entry->live_bytes,
				 .objects = (double)entry->live_objects,
				 .variance = stacks->variance[site],
				 .samples = stacks->samples[site]};
}

/* The functions of a stack, outermost first, into `ret_functions` unless that is NULL; their number. */
static size_t unfold(const struct stacks *stacks, uint32_t node, uint32_t *ret_functions)
{
	size_t count = 0;

	for (; node != 0; node = stacks->profile.nodes[node].parent) {
		const struct stack_place *place = &stacks->places[stacks->place_of[node]];

		for (uint32_t i = 0; i < place->line_count; i++, count++) {
			if (ret_functions)
				ret_functions[count] = stacks->lines[place->first_line + i].function;
		}
	}
	for (size_t i = 0; ret_functions && i < count / 2; i++) {
		uint32_t swapped = ret_functions[i];

		ret_functions[i] = ret_functions[count - 1 - i];
		ret_functions[count - 1 - i] = swapped;
	}
	return count;
}

/* By the numbers of the functions, which are in the order of their names. */
static int compare_paths(const void *a, const void *b)
{
	const struct heap_path *left = a, *right = b;

	for (uint32_t i = 0; i < left->count && i < right->count; i++) {
		if (left->functions[i] != right->functions[i])
			return left->functions[i] < right->functions[i] ? -1 : 1;
	}
	return left->count < right->count ? -1 : left->count > right->count;
}

static void unite_paths(struct heap *heap)
{
	size_t count = 0;

	if (heap->path_count > 1)
		qsort(heap->paths, heap->path_count, sizeof(*heap->paths), compare_paths);
	for (size_t i = 0; i < heap->path_count; i++) {
		if (count > 0 && compare_paths(&heap->paths[count - 1], &heap->paths[i]) == 0)
			add_sum(&heap->paths[count - 1].sum, &heap->paths[i].sum);
		else
			heap->paths[count++] = heap->paths[i];
	}
	heap->path_count = count;
}

static int make_paths(struct heap *heap)
{
	const struct stacks *stacks = heap->stacks;
	const struct profile *profile = &stacks->profile;
	size_t length = 0;

	for (uint32_t i = 0; i < profile->site_count; i++)
		length += unfold(stacks, profile->sites[i].node, NULL);
	heap->paths = calloc((size_t)profile->site_count + 1, sizeof(*heap->paths));
	heap->pool = calloc(length + 1, sizeof(*heap->pool));
	if (!heap->paths || !heap->pool)
		return -ENOMEM;
	length = 0;
	for (uint32_t i = 0; i < profile->site_count; i++) {
		struct heap_path path = {.functions = heap->pool + length,
					 .sum = site_sum(stacks, i, heap->about.total)};

		if (path.sum.bytes <= 0)
			continue;
		path.count = (uint32_t)unfold(stacks, profile->sites[i].node, path.functions);
		length += path.count;
		heap->paths[heap->path_count++] = path;
		add_sum(&heap->sum, &path.sum);
	}
	unite_paths(heap);
	return 0;
}

/* --- Rows -------------------------------------------------------------------------------- */

/* Where in the path the memory is for: the innermost function that is no plumbing, the innermost of all otherwise. */
static uint32_t owner_in(const struct heap *heap, const struct heap_path *path)
{
	for (uint32_t i = path->count; i > 0; i--) {
		if (!heap->stacks->functions[path->functions[i - 1]].plumbing)
			return i - 1;
	}
	return path->count - 1;
}

static int compare_rows(const void *a, const void *b)
{
	const struct heap_row *left = a, *right = b;

	if (left->flat.bytes != right->flat.bytes)
		return left->flat.bytes < right->flat.bytes ? 1 : -1;
	if (left->cum.bytes != right->cum.bytes)
		return left->cum.bytes < right->cum.bytes ? 1 : -1;
	return left->index < right->index ? -1 : left->index > right->index;
}

/* Adds one path to the rows of functions, or of libraries; seen[] keeps recursion from counting twice. */
static void add_path(const struct heap *heap, const struct heap_path *path, struct heap_row *rows, uint32_t *seen,
		     uint32_t mark, bool libraries)
{
	uint32_t owner = owner_in(heap, path);

	for (uint32_t i = 0; i < path->count; i++) {
		uint32_t function = path->functions[i];
		uint32_t row = libraries ? heap->stacks->functions[function].module : function;

		if (i == owner)
			add_sum(&rows[row].flat, &path->sum);
		if (seen[row] != mark)
			add_sum(&rows[row].cum, &path->sum);
		seen[row] = mark;
	}
}

/* Rows that hold something, in order. */
static int make_rows(const struct heap *heap, size_t room, bool libraries, struct heap_row **ret_rows,
		     size_t *ret_count)
{
	struct heap_row *rows = calloc(room + 1, sizeof(*rows));
	uint32_t *seen = calloc(room + 1, sizeof(*seen));
	size_t count = 0;

	*ret_rows = rows;
	if (!rows || !seen) {
		free(seen);
		return -ENOMEM;
	}
	for (size_t i = 0; i < room; i++)
		rows[i].index = (uint32_t)i;
	for (size_t i = 0; i < heap->path_count; i++) {
		if (heap->paths[i].count > 0)
			add_path(heap, &heap->paths[i], rows, seen, (uint32_t)i + 1, libraries);
	}
	for (size_t i = 0; i < room; i++) {
		if (rows[i].cum.bytes > 0)
			rows[count++] = rows[i];
	}
	qsort(rows, count, sizeof(*rows), compare_rows);
	free(seen);
	*ret_count = count;
	return 0;
}

/* --- All of it --------------------------------------------------------------------------- */

const char *ebbi_heap_library(const struct heap *heap, uint32_t function)
{
	return ebbi_stacks_library(heap->stacks, heap->stacks->functions[function].module);
}

int ebbi_heap_make(const struct stacks *stacks, const struct heap_about *about, struct heap *ret_heap)
{
	struct heap heap = {.stacks = stacks, .about = *about};
	int error = make_paths(&heap);

	if (error == 0)
		error = make_rows(&heap, stacks->function_count, /* libraries= */ false, &heap.functions,
				  &heap.function_count);
	if (error == 0)
		error = make_rows(&heap, stacks->profile.module_count, /* libraries= */ true, &heap.libraries,
				  &heap.library_count);
	if (error != 0)
		ebbi_heap_free(&heap);
	else
		*ret_heap = heap;
	return error;
}

void ebbi_heap_free(struct heap *heap)
{
	free(heap->paths);
	free(heap->pool);
	free(heap->functions);
	free(heap->libraries);
	*heap = (struct heap){0};
}

void ebbi_heap_folded(FILE *stream, const struct heap *heap)
{
	for (size_t i = 0; i < heap->path_count; i++) {
		const struct heap_path *path = &heap->paths[i];

		if (path->count == 0)
			fputs("[unknown]", stream);
		for (uint32_t j = 0; j < path->count; j++) {
			const char *name = heap->stacks->functions[path->functions[j]].name;

			if (j > 0)
				fputc(';', stream);
			/* The format has no quoting: what would end a name becomes a colon. */
			for (; *name; name++)
				fputc(*name == ';' ? ':' : *name, stream);
		}
		fprintf(stream, " %.0f\n", path->sum.bytes);
	}
}
