#include "report/groups.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int wrong(char *ret_message, const char *path, const char *what)
{
	snprintf(ret_message, SAVED_MESSAGE, "%.400s: %.500s", path, what);
	return -EINVAL;
}

static int differ(char *ret_message, const struct comparison *comparison, const char *path, const char *what,
		  const char *here, const char *there)
{
	snprintf(ret_message, SAVED_MESSAGE, "not comparable: %s is %s in %.300s and %s in %.300s", what, there,
		 comparison->first_path, here, path);
	return -EXDEV;
}

static int check_comparable(const struct comparison *comparison, const struct saved_run *run, const char *path,
			    char *ret_message)
{
	const struct saved_run *first = &comparison->first;
	char here[32], there[32];

	if (strcmp(first->kernel, run->kernel) != 0)
		return differ(ret_message, comparison, path, "the kernel", run->kernel, first->kernel);
	if (strcmp(first->thp, run->thp) != 0)
		return differ(ret_message, comparison, path, "the huge page setting", run->thp, first->thp);
	if (first->has_load != run->has_load)
		return differ(ret_message, comparison, path, "a load", run->has_load ? "present" : "absent",
			      first->has_load ? "present" : "absent");
	if (strcmp(first->basis, run->basis) != 0)
		return differ(ret_message, comparison, path, "the kind of figure", run->basis, first->basis);
	if (first->cpus != run->cpus || first->page_bytes != run->page_bytes) {
		snprintf(here, sizeof(here), "%llu", (unsigned long long)run->cpus);
		snprintf(there, sizeof(there), "%llu", (unsigned long long)first->cpus);
		return differ(ret_message, comparison, path,
			      first->cpus != run->cpus ? "the number of CPUs" : "the page size", here, there);
	}
	/* Without a load, rest is where it happened to be. */
	for (size_t i = 0; i < SAVED_RESTS && run->has_load; i++) {
		if (first->rest_seconds[i] != run->rest_seconds[i])
			return differ(ret_message, comparison, path, "the time at rest", "another", "one");
	}
	return 0;
}

static struct group *group_for(struct comparison *comparison, const struct saved_run *run)
{
	struct group *group;

	for (size_t i = 0; i < comparison->group_count; i++) {
		if (strcmp(comparison->groups[i]->label, run->label) == 0 &&
		    strcmp(comparison->groups[i]->generation, run->generation) == 0)
			return comparison->groups[i];
	}
	if (comparison->group_count == COMPARISON_GROUPS)
		return NULL;
	group = calloc(1, sizeof(*group));
	if (!group)
		return NULL;
	snprintf(group->label, sizeof(group->label), "%.63s", run->label);
	snprintf(group->generation, sizeof(group->generation), "%.15s", run->generation);
	group->build = run->build;
	comparison->groups[comparison->group_count++] = group;
	return group;
}

/* In one group everything but chance is the same; between groups one thing is compared, and not two at once. */
static int check_build(const struct comparison *comparison, const struct group *group, const struct saved_run *run,
		       const char *path, char *ret_message)
{
	const struct saved_build *mine = &group->build, *first = &comparison->first.build, *its = &run->build;
	bool other_allocator = strcmp(first->allocator, its->allocator) != 0;

	if (strcmp(mine->allocator_build_id, its->allocator_build_id) != 0 ||
	    strcmp(mine->allocator, its->allocator) != 0)
		return differ(ret_message, comparison, path, "the allocator of one label", "another build", "one");
	if (strcmp(mine->command, its->command) == 0 && strcmp(mine->build_id, its->build_id) != 0)
		return differ(ret_message, comparison, path, "the program of one label", "another build", "one");
	if (other_allocator && strcmp(first->command, its->command) == 0 && strcmp(first->build_id, its->build_id) != 0)
		return differ(ret_message, comparison, path, "the program, besides the allocator,", "another build",
			      "one");
	return 0;
}

static void add_figures(struct comparison *comparison, struct group *group, const struct saved_run *run)
{
	group->runs++;
	for (size_t i = 0; i < FIGURE_COUNT; i++) {
		if (run->known[i])
			ebbi_series_add(&group->series[i], run->figures[i]);
	}
	if (run->peak_bound_bytes > comparison->peak_bound_bytes)
		comparison->peak_bound_bytes = run->peak_bound_bytes;
}

static int add(struct comparison *comparison, const struct saved_run *run, const char *path, char *ret_message)
{
	struct group *group;
	int error = comparison->group_count > 0 && comparison->first_path
			    ? check_comparable(comparison, run, path, ret_message)
			    : 0;

	if (error != 0)
		return error;
	if (!comparison->first_path) {
		comparison->first = *run;
		comparison->first_path = path;
	}
	group = group_for(comparison, run);
	if (!group || group->runs == SERIES_MAX)
		return wrong(ret_message, path, "too many labels (32) or runs of one label (256)");
	error = check_build(comparison, group, run, path, ret_message);
	if (error == 0)
		add_figures(comparison, group, run);
	return error;
}

int ebbi_comparison_add_run(struct comparison *comparison, const json_t *root, const char *path, char *ret_message)
{
	struct saved_run run;
	int error = ebbi_saved_run(root, path, &run, ret_message);

	return error != 0 ? error : add(comparison, &run, path, ret_message);
}

void ebbi_comparison_problem(struct comparison *comparison, const char *format, ...)
{
	va_list arguments;

	if (comparison->problem_count == COMPARISON_PROBLEMS)
		return;
	va_start(arguments, format);
	vsnprintf(comparison->problems[comparison->problem_count++], SAVED_MESSAGE, format, arguments);
	va_end(arguments);
}

int ebbi_comparison_take_run(struct comparison *comparison, const json_t *root, const char *path, char *ret_message)
{
	struct saved_run run;
	struct group *group;
	int error = ebbi_saved_read(root, path, &run, ret_message);

	if (error != 0)
		return error;
	group = group_for(comparison, &run);
	if (!group)
		return wrong(ret_message, path, "too many labels (32)");
	error = ebbi_saved_run(root, path, &run, ret_message);
	if (error == -EXDEV)
		group->failed++;
	if (error == 0)
		error = add(comparison, &run, path, ret_message);
	if (error == -EXDEV)
		ebbi_comparison_problem(comparison, "%s", ret_message);
	return error == -EXDEV ? 0 : error;
}

int ebbi_comparison_add(struct comparison *comparison, const char *path, char *ret_message)
{
	json_t *root = NULL;
	int error = ebbi_saved_load(path, &root, ret_message);

	if (error == 0)
		error = ebbi_comparison_add_run(comparison, root, path, ret_message);
	json_decref(root);
	return error;
}

void ebbi_comparison_free(struct comparison *comparison)
{
	for (size_t i = 0; i < comparison->group_count; i++)
		free(comparison->groups[i]);
	comparison->group_count = 0;
}
