#include "observe/allocators.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "observe/loaded.h"
#include "observe/text.h"

enum match { MATCH_WHOLE, MATCH_BEGINS, MATCH_ENDS, MATCH_WITHIN };
enum what { WHAT_MALLOC, WHAT_RUNTIME };

static const struct {
	const char *name;
	enum what what;
} kinds[ALLOCATOR_COUNT] = {
#define ALLOCATOR(id, name, what) {name, WHAT_##what},
#include "observe/allocators.def"
#undef ALLOCATOR
	{"other", WHAT_MALLOC},
};

struct mark {
	enum allocator_id id;
	enum match match;
	const char *text;
	size_t length;
};

static const struct mark symbols[] = {
#define ALLOCATOR_SYMBOL(id, match, text) {ALLOCATOR_##id, MATCH_##match, text, sizeof(text) - 1},
#include "observe/allocators.def"
#undef ALLOCATOR_SYMBOL
};

static const struct mark texts[] = {
#define ALLOCATOR_TEXT(id, text) {ALLOCATOR_##id, MATCH_WITHIN, text, sizeof(text) - 1},
#include "observe/allocators.def"
#undef ALLOCATOR_TEXT
};

static const struct mark files[] = {
#define ALLOCATOR_FILE(id, text) {ALLOCATOR_##id, MATCH_BEGINS, text, sizeof(text) - 1},
#include "observe/allocators.def"
#undef ALLOCATOR_FILE
};

/* A static program may have glibc's malloc and another one. */
#define TEXTS_MOST 2u
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* One file while it is looked through. */
struct looking {
	bool seen[ALLOCATOR_COUNT];
	enum allocator_evidence evidence[ALLOCATOR_COUNT];
	char prefix[24]; /* of jemalloc */
	bool dynamic_malloc;
	bool malloc;
};

const char *ebbi_allocator_name(enum allocator_id id)
{
	return kinds[id].name;
}

static void see(struct looking *looking, enum allocator_id id, enum allocator_evidence evidence)
{
	if (looking->seen[id])
		return;
	looking->seen[id] = true;
	looking->evidence[id] = evidence;
}

static bool fits(const struct mark *mark, const char *name)
{
	size_t length;

	switch (mark->match) {
	case MATCH_WHOLE:
		return strcmp(name, mark->text) == 0;
	case MATCH_BEGINS:
		return strncmp(name, mark->text, mark->length) == 0;
	case MATCH_ENDS:
		length = strlen(name);
		return length >= mark->length && strcmp(name + length - mark->length, mark->text) == 0;
	case MATCH_WITHIN:
		return strstr(name, mark->text) != NULL;
	}
	return false;
}

static int see_symbol(void *context, const char *name, bool dynamic)
{
	struct looking *looking = context;

	if (strcmp(name, "malloc") == 0) {
		looking->malloc = true;
		looking->dynamic_malloc |= dynamic;
		return 0;
	}
	for (size_t i = 0; i < COUNT(symbols); i++) {
		if (looking->seen[symbols[i].id] || !fits(&symbols[i], name))
			continue;
		see(looking, symbols[i].id, EVIDENCE_SYMBOL);
		if (symbols[i].id == ALLOCATOR_JEMALLOC)
			snprintf(looking->prefix, sizeof(looking->prefix), "%.*s",
				 (int)(strlen(name) - symbols[i].length), name);
	}
	return 0;
}

static int see_text(void *context, const char *bytes, size_t size)
{
	struct looking *looking = context;

	for (size_t i = 0; i < COUNT(texts); i++) {
		if (!looking->seen[texts[i].id] && memmem(bytes, size, texts[i].text, texts[i].length))
			see(looking, texts[i].id, EVIDENCE_TEXT);
	}
	return 0;
}

/* A file with the texts of many allocators is about allocators, as we are: it has none of them. */
static void doubt_texts(struct looking *looking)
{
	size_t count = 0;

	for (size_t id = 0; id < ALLOCATOR_COUNT; id++)
		count += looking->seen[id] && looking->evidence[id] == EVIDENCE_TEXT && kinds[id].what == WHAT_MALLOC;
	for (size_t id = 0; id < ALLOCATOR_COUNT && count > TEXTS_MOST; id++) {
		if (looking->evidence[id] == EVIDENCE_TEXT)
			looking->seen[id] = false;
	}
}

static void see_file_name(struct looking *looking, const char *file)
{
	for (size_t i = 0; i < COUNT(files); i++) {
		if (fits(&files[i], file))
			see(looking, files[i].id, EVIDENCE_FILE_NAME);
	}
}

static bool any_seen(const struct looking *looking)
{
	for (size_t i = 0; i < ALLOCATOR_COUNT; i++) {
		if (looking->seen[i])
			return true;
	}
	return false;
}

static void add(struct process_allocators *allocators, const struct looking *looking, enum allocator_id id,
		const char *file, bool program)
{
	struct process_allocator *one = &allocators->all[allocators->count];

	if (allocators->count == ALLOCATORS_MOST)
		return;
	*one = (struct process_allocator){
		.id = id,
		.evidence = looking->evidence[id],
		.in_program = program,
		.runtime = kinds[id].what == WHAT_RUNTIME,
	};
	if (id == ALLOCATOR_JEMALLOC)
		memcpy(one->prefix, looking->prefix, sizeof(one->prefix));
	snprintf(one->file, sizeof(one->file), "%s", file);
	ebbi_text_clean(one->prefix);
	ebbi_text_clean(one->file);
	allocators->count++;
}

int ebbi_allocators_in_file(const struct elf_reader *reader, const char *file, bool program,
			    struct process_allocators *allocators, bool *ret_malloc)
{
	struct looking looking = {0};
	bool all;
	int error = ebbi_elf_each_symbol(reader, see_symbol, &looking, &all);

	*ret_malloc = false;
	if (error == 0 && (program || !any_seen(&looking)))
		error = ebbi_elf_each_data(reader, see_text, &looking);
	doubt_texts(&looking);
	see_file_name(&looking, file);
	for (size_t id = 0; id < ALLOCATOR_COUNT; id++) {
		if (looking.seen[id])
			add(allocators, &looking, (enum allocator_id)id, file, program);
	}
	/* A program that others do not look into may still define malloc: a static one. */
	*ret_malloc = looking.dynamic_malloc || (program && looking.malloc);
	return error;
}

/* Marks the allocator that stands behind the malloc of this file, whose entries begin at `first`. */
static void take_malloc(struct process_allocators *allocators, size_t first, const char *file, bool program)
{
	struct looking none = {0};
	struct process_allocator *best = NULL;

	for (size_t i = first; i < allocators->count; i++) {
		struct process_allocator *one = &allocators->all[i];

		/* Of several in one file the one that has no prefix; glibc's is there in every static program. */
		if (!one->runtime && (!best || (best->prefix[0] && !one->prefix[0]) || best->id == ALLOCATOR_GLIBC))
			best = one;
	}
	if (!best && allocators->count < ALLOCATORS_MOST) {
		best = &allocators->all[allocators->count];
		add(allocators, &none, ALLOCATOR_OTHER, file, program);
	}
	if (best)
		best->is_malloc = true;
}

static bool has_kind(const struct process_allocators *allocators, enum what what)
{
	for (size_t i = 0; i < allocators->count; i++) {
		if (kinds[allocators->all[i].id].what == what)
			return true;
	}
	return false;
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int read_objects(pid_t pid, const struct loaded *loaded, struct process_allocators *allocators)
{
	bool have = false, alone = !loaded->ordered;

	for (size_t i = 0; i < loaded->count; i++) {
		const struct loaded_object *object = &loaded->all[i];
		size_t first = allocators->count;
		int fd = ebbi_loaded_open(pid, object), error;
		struct elf_reader reader = {ebbi_elf_read_fd, &fd};
		bool defines;

		if (fd < 0) {
			allocators->unread++;
			continue;
		}
		error = ebbi_allocators_in_file(&reader, file_name(object->path), object->program, allocators,
						&defines);
		close(fd);
		if (error == -ENOMEM)
			return error;
		allocators->unread += error != 0 && error != -ENOEXEC;
		if (defines && !have && (object->placed || alone)) {
			take_malloc(allocators, first, file_name(object->path), object->program);
			have = true;
		}
	}
	/* A static program without symbols: what its texts tell. */
	if (!have && loaded->count == 1 && has_kind(allocators, WHAT_MALLOC)) {
		take_malloc(allocators, 0, file_name(loaded->all[0].path), loaded->all[0].program);
		have = true;
	}
	allocators->certain = have && (loaded->ordered || loaded->count == 1) && allocators->unread == 0;
	return 0;
}

int ebbi_allocators(pid_t pid, struct process_allocators *ret_allocators)
{
	struct loaded *loaded = malloc(sizeof(*loaded));
	int error;

	memset(ret_allocators, 0, sizeof(*ret_allocators));
	if (!loaded)
		return -ENOMEM;
	error = ebbi_loaded(pid, loaded);
	if (error == 0)
		error = read_objects(pid, loaded, ret_allocators);
	free(loaded);
	return error;
}

const struct process_allocator *ebbi_allocators_malloc(const struct process_allocators *allocators)
{
	for (size_t i = 0; i < allocators->count; i++) {
		if (allocators->all[i].is_malloc)
			return &allocators->all[i];
	}
	return NULL;
}
