#include "lab/yaml.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "lab/allocator.h"
#include "observe/text.h"

/* Loaded when a promise is read: linked, it would be 45 KiB of every launcher (docs/decisions/0048). */
struct library {
	int (*initialize)(yaml_parser_t *parser);
	void (*set_encoding)(yaml_parser_t *parser, yaml_encoding_t encoding);
	void (*set_input)(yaml_parser_t *parser, const unsigned char *bytes, size_t length);
	int (*parse)(yaml_parser_t *parser, yaml_event_t *event);
	void (*delete_event)(yaml_event_t *event);
	void (*delete_parser)(yaml_parser_t *parser);
};

static struct library library;

static bool load_library(void)
{
	static const struct {
		const char *name;
		void *to;
	} symbols[] = {
		{"yaml_parser_initialize", &library.initialize},
		{"yaml_parser_set_encoding", &library.set_encoding},
		{"yaml_parser_set_input_string", &library.set_input},
		{"yaml_parser_parse", &library.parse},
		{"yaml_event_delete", &library.delete_event},
		{"yaml_parser_delete", &library.delete_parser},
	};
	void *handle = library.delete_parser ? NULL : dlopen("libyaml-0.so.2", RTLD_NOW | RTLD_LOCAL);

	for (size_t i = 0; handle && i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *symbol = dlsym(handle, symbols[i].name);

		if (!symbol)
			return false;
		/* POSIX has it that the two kinds of pointers are alike. */
		memcpy(symbols[i].to, &symbol, sizeof(symbol));
	}
	return library.delete_parser != NULL;
}

/* The mappings and lists that are open, the outermost first. */
struct builder {
	const char *path;
	const char *bytes;
	size_t length;
	struct yaml *tree;
	char *message;
	size_t depth;
	struct yaml_node *open[YAML_DEPTH];
	struct yaml_node *last[YAML_DEPTH]; /* the youngest child of each */
	size_t children[YAML_DEPTH];
	bool done; /* the root is complete */
};

static int wrong(const struct builder *builder, const yaml_mark_t *mark, const char *what)
{
	snprintf(builder->message, LAB_MESSAGE, "%.300s:%zu:%zu: %s", builder->path, mark->line + 1, mark->column + 1,
		 what);
	ebbi_text_clean(builder->message);
	return -EINVAL;
}

/* What libyaml says, and what it mostly comes from. */
static int syntax_wrong(const struct builder *builder, const yaml_parser_t *parser)
{
	const char *problem = parser->problem ? parser->problem : "not understood";
	const yaml_mark_t *mark = &parser->problem_mark;
	char what[400];
	const char *remedy = "";

	if (parser->error == YAML_MEMORY_ERROR)
		return -ENOMEM;
	if (parser->error == YAML_READER_ERROR) {
		snprintf(builder->message, LAB_MESSAGE, "%.300s: byte %zu: %s: save the file as UTF-8 text",
			 builder->path, parser->problem_offset + 1, problem);
		return -EINVAL;
	}
	if (mark->index < builder->length && builder->bytes[mark->index] == '\t')
		remedy = ": indent with blanks, not with tabs";
	else if (strstr(problem, "mapping values"))
		remedy = ": indent less, or put quotes around a value that holds ': '";
	else if (strstr(problem, "expected key") || strstr(problem, "block entry") || strstr(problem, "block end"))
		remedy = ": keys of one mapping begin in one column";
	else if (strstr(problem, "could not find expected ':'"))
		remedy = ": write 'key: value'";
	else if (strstr(problem, "start any token"))
		remedy = ": put quotes around the value";
	else if (strstr(problem, "end of stream"))
		remedy = ": a quote or bracket is not closed";
	snprintf(what, sizeof(what), "no YAML: %s%s", problem, remedy);
	return wrong(builder, mark, what);
}

static struct yaml_node *key_before(const struct yaml_node *map, const struct yaml_node *key)
{
	for (struct yaml_node *at = map->first; at && at != key; at = at->next->next) {
		if (strcmp(at->text, key->text) == 0)
			return at;
	}
	return NULL;
}

static int check_key(const struct builder *builder, const struct yaml_node *map, const struct yaml_node *key,
		     const yaml_mark_t *mark)
{
	const struct yaml_node *before;
	char what[200];

	if (key->kind != YAML_TEXT)
		return wrong(builder, mark, "a list or mapping cannot be a key: write 'key: value'");
	before = key_before(map, key);
	if (!before)
		return 0;
	snprintf(what, sizeof(what), "'%.60s' is there twice: the other stands in line %u", key->text, before->line);
	return wrong(builder, mark, what);
}

static int add_node(struct builder *builder, enum yaml_kind kind, const yaml_mark_t *mark, struct yaml_node **ret_node)
{
	struct yaml *tree = builder->tree;
	struct yaml_node *node = &tree->nodes[tree->count];
	struct yaml_node *parent = builder->depth ? builder->open[builder->depth - 1] : NULL;

	if (tree->count == YAML_NODES)
		return wrong(builder, mark, "too much for a promise: 1000 keys and values at most");
	tree->count++;
	*node = (struct yaml_node){
		.kind = kind, .text = "", .line = (unsigned)mark->line + 1, .column = (unsigned)mark->column + 1};
	*ret_node = node;
	if (!parent)
		return 0;
	if (builder->children[builder->depth - 1]++ == 0)
		parent->first = node;
	else
		builder->last[builder->depth - 1]->next = node;
	builder->last[builder->depth - 1] = node;
	return 0;
}

/* A node is complete but for its children. */
static int check_node(const struct builder *builder, const struct yaml_node *node, const yaml_mark_t *mark)
{
	const struct yaml_node *parent = builder->depth ? builder->open[builder->depth - 1] : NULL;

	if (!parent || parent->kind != YAML_MAP || builder->children[builder->depth - 1] % 2 == 0)
		return 0;
	return check_key(builder, parent, node, mark);
}

static int add_text(struct builder *builder, const yaml_event_t *event)
{
	struct yaml *tree = builder->tree;
	size_t length = event->data.scalar.length;
	struct yaml_node *node;
	int error = add_node(builder, YAML_TEXT, &event->start_mark, &node);

	if (error != 0)
		return error;
	if (memchr(event->data.scalar.value, 0, length))
		return wrong(builder, &event->start_mark, "a NUL character: no value has one");
	if (length >= tree->texts_size - tree->texts_length)
		return -ENOMEM;
	memcpy(tree->texts + tree->texts_length, event->data.scalar.value, length);
	tree->texts[tree->texts_length + length] = 0;
	node->text = tree->texts + tree->texts_length;
	node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	tree->texts_length += length + 1;
	return check_node(builder, node, &event->start_mark);
}

static int open_node(struct builder *builder, enum yaml_kind kind, const yaml_event_t *event)
{
	struct yaml_node *node;
	int error;

	if (builder->depth == YAML_DEPTH)
		return wrong(builder, &event->start_mark, "nested too deeply for a promise");
	error = add_node(builder, kind, &event->start_mark, &node);
	if (error == 0)
		error = check_node(builder, node, &event->start_mark);
	if (error != 0)
		return error;
	builder->open[builder->depth] = node;
	builder->children[builder->depth] = 0;
	builder->depth++;
	return 0;
}

static const char *anchor_of(const yaml_event_t *event)
{
	const yaml_char_t *anchor = event->type == YAML_SCALAR_EVENT           ? event->data.scalar.anchor
				    : event->type == YAML_MAPPING_START_EVENT  ? event->data.mapping_start.anchor
				    : event->type == YAML_SEQUENCE_START_EVENT ? event->data.sequence_start.anchor
									       : NULL;

	return (const char *)anchor;
}

static bool has_tag(const yaml_event_t *event)
{
	return (event->type == YAML_SCALAR_EVENT && event->data.scalar.tag) ||
	       (event->type == YAML_MAPPING_START_EVENT && event->data.mapping_start.tag) ||
	       (event->type == YAML_SEQUENCE_START_EVENT && event->data.sequence_start.tag);
}

static int take_event(struct builder *builder, const yaml_event_t *event)
{
	if (anchor_of(event) || event->type == YAML_ALIAS_EVENT)
		return wrong(builder, &event->start_mark,
			     "anchors and aliases (& and *) are not taken: write the value out, or put it in quotes");
	if (has_tag(event))
		return wrong(builder, &event->start_mark, "tags (!) are not taken: leave it out, or put quotes around");
	switch (event->type) {
	case YAML_DOCUMENT_START_EVENT:
		if (builder->tree->count > 0)
			return wrong(builder, &event->start_mark, "a second document: one promise a file");
		return 0;
	case YAML_SCALAR_EVENT:
		return add_text(builder, event);
	case YAML_MAPPING_START_EVENT:
		return open_node(builder, YAML_MAP, event);
	case YAML_SEQUENCE_START_EVENT:
		return open_node(builder, YAML_LIST, event);
	case YAML_MAPPING_END_EVENT:
	case YAML_SEQUENCE_END_EVENT:
		builder->depth--;
		return 0;
	case YAML_STREAM_END_EVENT:
		builder->done = true;
		return 0;
	default:
		return 0;
	}
}

static int build(struct builder *builder, yaml_parser_t *parser)
{
	int error = 0;

	while (error == 0 && !builder->done) {
		yaml_event_t event;

		if (!library.parse(parser, &event))
			return syntax_wrong(builder, parser);
		error = take_event(builder, &event);
		library.delete_event(&event);
	}
	return error;
}

int ebbi_yaml_parse(const char *bytes, size_t length, const char *path, struct yaml *ret_tree, char *ret_message)
{
	/* An escape makes three bytes of two at most; every text has a NUL behind it. */
	struct yaml tree = {.texts_size = 2 * length + YAML_NODES + 64};
	struct builder builder = {
		.path = path, .bytes = bytes, .length = length, .tree = &tree, .message = ret_message};
	yaml_parser_t parser;
	int error = -ENOMEM;

	snprintf(ret_message, LAB_MESSAGE, "%.300s: out of memory", path);
	if (length > YAML_BYTES) {
		snprintf(ret_message, LAB_MESSAGE, "%.300s: larger than %d KiB: this is no promise file", path,
			 YAML_BYTES / 1024);
		return -EINVAL;
	}
	if (!load_library()) {
		snprintf(ret_message, LAB_MESSAGE,
			 "%.300s: promise files are read by libyaml-0.so.2; on Debian: apt-get install libyaml-0-2",
			 path);
		return -ELIBACC;
	}
	if (!library.initialize(&parser))
		return -ENOMEM;
	tree.nodes = calloc(YAML_NODES, sizeof(*tree.nodes));
	tree.texts = malloc(tree.texts_size);
	if (tree.nodes && tree.texts) {
		library.set_encoding(&parser, YAML_UTF8_ENCODING);
		library.set_input(&parser, (const unsigned char *)bytes, length);
		error = build(&builder, &parser);
	}
	library.delete_parser(&parser);
	if (error == 0)
		*ret_tree = tree;
	else
		ebbi_yaml_free(&tree);
	return error;
}

void ebbi_yaml_free(struct yaml *tree)
{
	free(tree->nodes);
	free(tree->texts);
	*tree = (struct yaml){0};
}
