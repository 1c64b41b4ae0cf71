/*
 * yaml.h: a small YAML text as a tree whose every node knows its line and column.
 *
 * Owns: the nodes and texts of a tree; ebbi_yaml_free releases them.
 * Never: follows an alias, obeys a tag, reads more than one document: what is refused cannot be a bomb.
 * Threading: one thread a tree.
 * Errors: -EINVAL with one line "PATH:LINE:COLUMN: what is wrong: the remedy"; -ENOMEM; -ELIBACC when libyaml is not there.
 * Invariants: at most YAML_NODES nodes, YAML_DEPTH deep; a text has no NUL inside; a mapping's children are key, value,
 * key, value, its keys scalars and no two of them equal.
 */
#ifndef EBBI_LAB_YAML_H
#define EBBI_LAB_YAML_H

#include <stdbool.h>
#include <stddef.h>

#define YAML_NODES 2048
#define YAML_DEPTH 8
#define YAML_BYTES 65536

enum yaml_kind { YAML_TEXT, YAML_LIST, YAML_MAP };

struct yaml_node {
	enum yaml_kind kind;
	bool plain;       /* a text without quotes, that may be a number or nothing at all */
	const char *text; /* of YAML_TEXT */
	unsigned line;    /* from 1 */
	unsigned column;  /* from 1, in characters */
	struct yaml_node *first;
	struct yaml_node *next;
};

struct yaml {
	size_t count;
	struct yaml_node *nodes; /* the first is the root */
	char *texts;
	size_t texts_length;
	size_t texts_size;
};

int ebbi_yaml_parse(const char *bytes, size_t length, const char *path, struct yaml *ret_tree, char *ret_message);
void ebbi_yaml_free(struct yaml *tree);

#endif
