#include "observe/cgroup.h"

#include <stdio.h>
#include <string.h>

#include "observe/procread.h"

/* v1 says "no limit" by the largest multiple of a page. */
#define NO_LIMIT ((uint64_t)1 << 60)

static bool has_word(struct text list, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = list.at; at + length <= list.end; at++) {
		if (memcmp(at, word, length) == 0 && (at == list.at || at[-1] == ',') &&
		    (at + length == list.end || at[length] == ','))
			return true;
	}
	return false;
}

bool ebbi_parse_cgroup(const char *bytes, size_t length, bool *ret_v1, char *ret_path, size_t size)
{
	struct text text = ebbi_text(bytes, length);
	struct text line;
	bool found = false;

	while (ebbi_text_line(&text, &line)) {
		const char *first = memchr(line.at, ':', ebbi_text_length(&line));
		const char *second = first ? memchr(first + 1, ':', (size_t)(line.end - first - 1)) : NULL;
		struct text controllers, path;
		bool v1;

		if (!second)
			continue;
		controllers = (struct text){.at = first + 1, .end = second};
		path = (struct text){.at = second + 1, .end = line.end};
		v1 = has_word(controllers, "memory");
		/* The memory controller's own tree counts, if there is one. */
		if (!v1 && (found || controllers.at != controllers.end))
			continue;
		ebbi_text_copy(&path, ret_path, size);
		*ret_v1 = v1;
		found = true;
		if (v1)
			break;
	}
	return found;
}

bool ebbi_parse_cgroup_stat(const char *bytes, size_t length, const char *name, uint64_t *ret_value)
{
	struct text text = ebbi_text(bytes, length);
	struct text line;

	while (ebbi_text_line(&text, &line)) {
		if (ebbi_text_skip(&line, name) && ebbi_text_skip(&line, " "))
			return ebbi_text_decimal(&line, ret_value);
	}
	return false;
}

static bool read_number(const char *directory, const char *name, uint64_t *ret_value)
{
	char path[512], bytes[64];
	ssize_t length;
	struct text text;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	length = ebbi_read_file(path, bytes, sizeof(bytes));
	if (length <= 0)
		return false;
	text = ebbi_text(bytes, (size_t)length);
	return ebbi_text_decimal(&text, ret_value);
}

/* The lowest limit from `directory` up to the mount. "max" is no number and so no limit. */
static uint64_t lowest_limit(char *directory, size_t mount_length, const char *name)
{
	uint64_t lowest = 0, limit;

	while (strlen(directory) > mount_length) {
		char *slash = strrchr(directory, '/');

		if (read_number(directory, name, &limit) && limit < NO_LIMIT && (lowest == 0 || limit < lowest))
			lowest = limit;
		*slash = 0;
	}
	return lowest;
}

void ebbi_cgroup_read(pid_t pid, struct cgroup_figures *ret_figures)
{
	char bytes[8192], directory[320], path[400];
	const char *mount;
	ssize_t length = ebbi_proc_read(pid, "cgroup", bytes, sizeof(bytes));
	bool v1;

	*ret_figures = (struct cgroup_figures){0};
	if (length <= 0 || !ebbi_parse_cgroup(bytes, (size_t)length, &v1, ret_figures->path, sizeof(ret_figures->path)))
		return;
	mount = v1 ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup";
	ret_figures->root = strcmp(ret_figures->path, "/") == 0;
	snprintf(directory, sizeof(directory), "%s%s", mount, ret_figures->root ? "" : ret_figures->path);
	snprintf(path, sizeof(path), "%s/memory.stat", directory);
	length = ebbi_read_file(path, bytes, sizeof(bytes));
	if (length <= 0)
		return;
	ret_figures->known =
		ebbi_parse_cgroup_stat(bytes, (size_t)length, v1 ? "total_cache" : "file", &ret_figures->file_bytes);
	ret_figures->has_sockets =
		v1 ? read_number(directory, "memory.kmem.tcp.usage_in_bytes", &ret_figures->socket_bytes)
		   : ebbi_parse_cgroup_stat(bytes, (size_t)length, "sock", &ret_figures->socket_bytes);
	(void)read_number(directory, v1 ? "memory.usage_in_bytes" : "memory.current", &ret_figures->usage_bytes);
	ret_figures->limit_bytes = lowest_limit(directory, strlen(mount), v1 ? "memory.limit_in_bytes" : "memory.max");
}
