/*
 * allocator.h: which library to preload, and how it is told its options.
 *
 * Owns: nothing; results are values. Never: loads a library, changes our own environment.
 * Threading: any thread.
 * Errors: -ENOENT (not found), -EINVAL (a name, path or option that cannot be used), each with one
 * line in `ret_message` that names the thing and the remedy.
 */
#ifndef EBBI_LAB_ALLOCATOR_H
#define EBBI_LAB_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>

#define LAB_MESSAGE 1024
#define LAB_VARIABLES 24

enum conf_style { CONF_NONE, CONF_LIST, CONF_TUNABLES, CONF_PREFIX };

struct allocator {
	char name[64];     /* as asked for; a library given by path goes by its file name */
	char path[4096];   /* real path; "" when nothing is preloaded */
	char build_id[65]; /* "" when it has none */
	bool is_ebb;       /* publishes ebb_shared_snapshot */
	enum conf_style conf_style;
	char conf_variable[32];
};

/* Variables to be set for the command, and for nobody else. */
struct environment {
	size_t count;
	struct {
		char name[64];
		char value[4096];
	} variables[LAB_VARIABLES];
};

/* `name` is one of allocators.def or a path (it holds a slash). */
int ebbi_allocator_find(const char *name, struct allocator *ret_allocator, char *ret_message);

/* The names that ebbi_allocator_find knows, in the order of allocators.def; NULL beyond the last. */
const char *ebbi_allocator_known(size_t index);

/* LD_PRELOAD and the options in `conf` (NULL: none); one already set in ours is kept, behind. */
int ebbi_allocator_environment(const struct allocator *allocator, const char *conf, struct environment *ret_environment,
			       char *ret_message);

/* Sets name=value; -ENOSPC when the list is full or the value too long. */
int ebbi_environment_set(struct environment *environment, const char *name, const char *value);

#endif
