#include "observe/stacks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "observe/text.h"

/* A function as a line names it, before equal ones became one. */
struct made {
	struct stack_function *function;
	uint32_t line; /* index of the line that wants it */
};

struct maker {
	struct stacks *stacks;
	uint32_t line_room;
	uint32_t function_room;
	uint32_t module; /* of the place that is being named */
	bool short_of_memory;
};

/* --- What is plumbing -------------------------------------------------------------------- */

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

bool ebbi_stacks_plumbing(const char *library, const char *function)
{
	static const char *const libraries[] = {"libc.so",  "libc-",   "libstdc++.so", "libgcc_s.so", "libebb.so",
						"ld-linux", "ld-musl", "libc++.so",    "libc++abi.so"};
	static const char *const functions[] = {"operator new", "std::",  "__gnu_cxx::", "alloc::",
						"<alloc::",     "core::", "<core::",     "__rust_",
						"__rdl_",       "__rg_",  "ebbi_"};
	static const char *const exact[] = {"malloc",         "calloc",   "realloc", "reallocarray", "aligned_alloc",
					    "posix_memalign", "memalign", "valloc",  "pvalloc"};

	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		if (begins(library, libraries[i]))
			return true;
	}
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		if (begins(function, functions[i]))
			return true;
	}
	for (size_t i = 0; i < sizeof(exact) / sizeof(exact[0]); i++) {
		if (strcmp(function, exact[i]) == 0)
			return true;
	}
	return false;
}

const char *ebbi_stacks_library(const struct stacks *stacks, uint32_t module)
{
	const char *path = stacks->profile.modules[module].path;
	const char *slash = strrchr(path, '/');

	if (module == 0)
		return "[made at run time]";
	if (!path[0])
		return "[the program]";
	return slash ? slash + 1 : path;
}

/* --- Lines and functions ----------------------------------------------------------------- */

static void *grown(void *array, uint32_t count, uint32_t *room, size_t entry_bytes)
{
	void *larger;

	if (count < *room)
		return array;
	larger = reallocarray(array, *room ? 2 * (size_t)*room : 256, entry_bytes);
	if (larger)
		*room = *room ? 2 * *room : 256;
	return larger;
}

static char *copy(const char *text)
{
	char *made = text ? strdup(text) : NULL;

	if (made)
		ebbi_text_clean(made);
	return made;
}

static void release(struct stack_function *function)
{
	free(function->name);
	free(function->linkage);
	free(function->file);
}

/* A line of the place that is being made, and a function of its own for it. */
static void add(struct maker *maker, const struct stack_function *function, uint32_t line)
{
	struct stacks *stacks = maker->stacks;
	void *lines = grown(stacks->lines, stacks->line_count, &maker->line_room, sizeof(*stacks->lines));
	void *functions;

	stacks->lines = lines ? lines : stacks->lines;
	functions = grown(stacks->functions, stacks->function_count, &maker->function_room, sizeof(*function));
	stacks->functions = functions ? functions : stacks->functions;
	if (!lines || !functions || !function->name) {
		struct stack_function lost = *function;

		release(&lost);
		maker->short_of_memory = true;
		return;
	}
	stacks->functions[stacks->function_count] = *function;
	stacks->functions[stacks->function_count].plumbing =
		ebbi_stacks_plumbing(ebbi_stacks_library(stacks, function->module), function->name);
	stacks->lines[stacks->line_count++] = (struct stack_line){stacks->function_count++, line};
}

static void add_frame(void *context, const struct symbol_frame *frame)
{
	struct maker *maker = context;
	struct stack_function function = {.module = maker->module, .known = true, .file = copy(frame->file)};

	function.name = frame->linkage ? ebbi_demangle(frame->linkage) : NULL;
	if (function.name) {
		ebbi_text_clean(function.name);
		function.linkage = copy(frame->linkage);
	} else {
		function.name = copy(frame->name);
	}
	add(maker, &function, frame->line);
}

static void add_unknown(struct maker *maker)
{
	struct stack_function function = {.module = maker->module};
	const char *library = ebbi_stacks_library(maker->stacks, maker->module);

	if (library[0] == '[')
		function.name = copy(library);
	else if (asprintf(&function.name, "[%s]", library) < 0)
		function.name = NULL;
	add(maker, &function, 0);
}

/* --- Places ------------------------------------------------------------------------------ */

static int compare_nodes(const void *a, const void *b, void *context)
{
	const struct ebb_profile_node *nodes = context;
	const struct ebb_profile_node *left = &nodes[*(const uint32_t *)a], *right = &nodes[*(const uint32_t *)b];

	if (left->module != right->module)
		return left->module < right->module ? -1 : 1;
	return left->address < right->address ? -1 : left->address > right->address;
}

/* One place for all nodes of one address, in the order of addresses. Node 0 has place 0, and nobody asks for it. */
static int make_places(struct stacks *stacks)
{
	const struct profile *profile = &stacks->profile;
	uint32_t count = profile->node_count;
	uint32_t *order = calloc(count, sizeof(*order));

	stacks->places = calloc(count, sizeof(*stacks->places));
	stacks->place_of = calloc(count, sizeof(*stacks->place_of));
	if (!order || !stacks->places || !stacks->place_of) {
		free(order);
		return -ENOMEM;
	}
	for (uint32_t i = 1; i < count; i++)
		order[i] = i;
	if (count > 1)
		qsort_r(order + 1, count - 1, sizeof(*order), compare_nodes, profile->nodes);
	for (uint32_t i = 1; i < count; i++) {
		const struct ebb_profile_node *node = &profile->nodes[order[i]];

		if (i == 1 || compare_nodes(&order[i - 1], &order[i], profile->nodes) != 0)
			stacks->places[stacks->place_count++] =
				(struct stack_place){.address = node->address, .module = node->module};
		stacks->place_of[order[i]] = stacks->place_count - 1;
	}
	free(order);
	return 0;
}

static int name_places(struct stacks *stacks, struct symbols *symbols)
{
	struct maker maker = {.stacks = stacks};

	for (uint32_t i = 0; i < stacks->place_count && !maker.short_of_memory; i++) {
		struct stack_place *place = &stacks->places[i];

		place->first_line = stacks->line_count;
		maker.module = place->module;
		/* The call lies before the address it returns to. */
		if (symbols && place->address > 0)
			ebbi_symbols_find(symbols, place->module, place->address - 1, add_frame, &maker);
		if (stacks->line_count == place->first_line)
			add_unknown(&maker);
		place->line_count = stacks->line_count - place->first_line;
	}
	return maker.short_of_memory ? -ENOMEM : 0;
}

/* --- Equal functions become one ---------------------------------------------------------- */

static int compare_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int compare_functions(const struct stack_function *a, const struct stack_function *b)
{
	int order = strcmp(a->name, b->name);

	if (order == 0)
		order = compare_text(a->linkage, b->linkage);
	if (order == 0)
		order = compare_text(a->file, b->file);
	if (order == 0 && a->module != b->module)
		order = a->module < b->module ? -1 : 1;
	return order;
}

static int compare_made(const void *a, const void *b)
{
	return compare_functions(((const struct made *)a)->function, ((const struct made *)b)->function);
}

static int unite_functions(struct stacks *stacks)
{
	struct made *made = calloc((size_t)stacks->line_count + 1, sizeof(*made));
	struct stack_function *united = calloc((size_t)stacks->line_count + 1, sizeof(*united));
	uint32_t count = 0;

	if (!made || !united) {
		free(made);
		free(united);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < stacks->line_count; i++)
		made[i] = (struct made){&stacks->functions[stacks->lines[i].function], i};
	if (stacks->line_count > 1)
		qsort(made, stacks->line_count, sizeof(*made), compare_made);
	for (uint32_t i = 0; i < stacks->line_count; i++) {
		if (count > 0 && compare_functions(made[i].function, &united[count - 1]) == 0)
			release(made[i].function);
		else
			united[count++] = *made[i].function;
		stacks->lines[made[i].line].function = count - 1;
	}
	free(made);
	free(stacks->functions);
	stacks->functions = united;
	stacks->function_count = count;
	return 0;
}

/* --- All of it --------------------------------------------------------------------------- */

/* 1 - exp(-x) for x above 0: of a 2^-n of it by the series, then n times 1 - (1 - p)^2. libm would cost more than all of this file. */
static double chance_of(double x)
{
	int halvings = 0;
	double chance;

	for (; x > 1.0 / 256 && halvings < 16; halvings++)
		x /= 2;
	chance = x > 1.0 / 256 ? 1 : x - x * x / 2 + x * x * x / 6;
	for (; halvings > 0; halvings--)
		chance *= 2 - chance;
	return chance;
}

/*
 * A site whose objects have s bytes in the mean: each of them is sampled with p = 1 - exp(-s/R) and then counts for
 * 1/p. So n = objects * p samples are behind the estimate, and each adds s^2 (1-p) / p^2 to its variance.
 */
static int estimate_errors(struct stacks *stacks)
{
	const struct profile *profile = &stacks->profile;

	stacks->variance = calloc((size_t)profile->site_count + 1, sizeof(double));
	stacks->samples = calloc((size_t)profile->site_count + 1, sizeof(double));
	if (!stacks->variance || !stacks->samples)
		return -ENOMEM;
	for (uint32_t i = 0; i < profile->site_count; i++) {
		const struct ebb_profile_site *site = &profile->sites[i];
		double objects = (double)site->live_objects, bytes = (double)site->live_bytes;
		double size, chance;

		if (site->live_objects == 0 || site->live_bytes == 0)
			continue;
		size = bytes / objects;
		chance = profile->interval_bytes ? chance_of(size / (double)profile->interval_bytes) : 1;
		stacks->samples[i] = objects * chance;
		stacks->variance[i] = bytes * size * (1 - chance) / chance;
	}
	return 0;
}

int ebbi_stacks_make(struct profile *profile, struct symbols *symbols, struct stacks *ret_stacks)
{
	struct stacks stacks = {.profile = *profile};
	int error = make_places(&stacks);

	*profile = (struct profile){0};
	if (error == 0)
		error = name_places(&stacks, symbols);
	if (error == 0)
		error = unite_functions(&stacks);
	if (error == 0)
		error = estimate_errors(&stacks);
	if (error != 0)
		ebbi_stacks_free(&stacks);
	else
		*ret_stacks = stacks;
	return error;
}

void ebbi_stacks_free(struct stacks *stacks)
{
	for (uint32_t i = 0; i < stacks->function_count; i++)
		release(&stacks->functions[i]);
	free(stacks->functions);
	free(stacks->lines);
	free(stacks->places);
	free(stacks->place_of);
	free(stacks->variance);
	free(stacks->samples);
	ebbi_profile_free(&stacks->profile);
	*stacks = (struct stacks){0};
}
