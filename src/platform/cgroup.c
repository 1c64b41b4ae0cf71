#include "platform/cgroup.h"

#include <stdbool.h>
#include <string.h>

#include "platform/lines.h"

#define PATH_MOST 1024u

/* Version 1 writes "no limit" as the largest number of pages that fits. */
#define NO_LIMIT_LEAST ((uint64_t)1 << 62)

enum version { VERSION_1, VERSION_2, VERSIONS };

/* Where a group's files are. The path is never longer than its buffer: what does not fit is not looked at. */
struct group {
	char path[PATH_MOST];
	size_t mount_length; /* of the path, up to where the hierarchy is mounted */
	bool found;
};

static bool append(char path[PATH_MOST], const char *text)
{
	size_t length = strlen(path);
	size_t more = strlen(text);

	if (length + more >= PATH_MOST)
		return false;
	memcpy(path + length, text, more + 1);
	return true;
}

static bool open_below(struct ebbi_lines *lines, const char *root, const char *name)
{
	char path[PATH_MOST] = "";

	return append(path, root) && append(path, name) && ebbi_lines_open(lines, path);
}

/* Cut the word at *at off, up to `end`, and move on. */
static char *word(char **at, char end)
{
	char *begin = *at;
	char *stop = strchr(begin, end);

	if (stop == NULL) {
		*at = begin + strlen(begin);
	} else {
		*stop = '\0';
		*at = stop + 1;
	}
	return begin;
}

/* Is `name` one of the words of a list with commas? */
static bool is_listed(const char *list, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = list; at != NULL; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0'))
			return true;
	}
	return false;
}

/* mountinfo writes blanks and the like as \040: back, in place. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from != '\0'; to++) {
		if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] >= '0' && from[2] <= '7' &&
		    from[3] >= '0' && from[3] <= '7') {
			*to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

/* /proc/self/cgroup: "4:cpu,memory:/path" in version 1, "0::/path" in version 2. */
static void read_own_paths(const char *root, char paths[VERSIONS][PATH_MOST])
{
	struct ebbi_lines lines;
	char *line;

	if (!open_below(&lines, root, "/proc/self/cgroup"))
		return;
	while ((line = ebbi_lines_next(&lines)) != NULL) {
		char *at = line;
		const char *number = word(&at, ':');
		const char *controllers = word(&at, ':');
		enum version version = strcmp(number, "0") == 0 && controllers[0] == '\0' ? VERSION_2 : VERSION_1;

		if (at[0] == '/' && (version == VERSION_2 || is_listed(controllers, "memory")) &&
		    paths[version][0] == '\0')
			(void)append(paths[version], at);
	}
	ebbi_lines_close(&lines);
}

/* What of `path` lies below `mounted`, the part of the hierarchy that is mounted; "" when it is not below. */
static const char *below(const char *path, const char *mounted)
{
	size_t length = strlen(mounted);

	if (strcmp(mounted, "/") == 0)
		return strcmp(path, "/") == 0 ? "" : path;
	if (strncmp(path, mounted, length) != 0 || (path[length] != '/' && path[length] != '\0'))
		return "";
	return path + length;
}

/* One line of mountinfo: "36 35 0:29 /mounted /at rw,... shared:9 - cgroup cgroup rw,memory". */
static void match_mount(char *line, const char *root, char paths[VERSIONS][PATH_MOST], struct group groups[VERSIONS])
{
	char *rest = strstr(line, " - ");
	char *at = line;
	const char *type;
	char *mounted;
	char *mount_point;
	enum version version;

	if (rest == NULL)
		return;
	rest += 3;
	type = word(&rest, ' ');
	(void)word(&rest, ' ');
	if (strcmp(type, "cgroup2") == 0)
		version = VERSION_2;
	else if (strcmp(type, "cgroup") == 0 && is_listed(rest, "memory"))
		version = VERSION_1;
	else
		return;
	for (unsigned i = 0; i < 3; i++)
		(void)word(&at, ' ');
	mounted = word(&at, ' ');
	mount_point = word(&at, ' ');
	unescape(mounted);
	unescape(mount_point);
	if (groups[version].found || paths[version][0] == '\0')
		return;
	groups[version].found = append(groups[version].path, root) && append(groups[version].path, mount_point);
	groups[version].mount_length = strlen(groups[version].path);
	if (!append(groups[version].path, below(paths[version], mounted)))
		groups[version].path[groups[version].mount_length] = '\0';
}

static void find_groups(const char *root, struct group groups[VERSIONS])
{
	char paths[VERSIONS][PATH_MOST] = {"", ""};
	struct ebbi_lines lines;
	char *line;

	read_own_paths(root, paths);
	if (!open_below(&lines, root, "/proc/self/mountinfo"))
		return;
	while ((line = ebbi_lines_next(&lines)) != NULL)
		match_mount(line, root, paths, groups);
	ebbi_lines_close(&lines);
}

/* The number at the start of a text; UINT64_MAX for "max" and for what stands for no limit. */
static uint64_t limit_from(const char *text)
{
	uint64_t value = 0;

	if (*text < '0' || *text > '9')
		return UINT64_MAX;
	for (; *text >= '0' && *text <= '9'; text++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
			return UINT64_MAX;
	return value < NO_LIMIT_LEAST ? value : UINT64_MAX;
}

/* The limit in the line of `name` that begins with `key`. */
static uint64_t limit_in(const char *directory, const char *name, const char *key)
{
	struct ebbi_lines lines;
	uint64_t limit = UINT64_MAX;
	const char *line;

	if (!open_below(&lines, directory, name))
		return limit;
	while ((line = ebbi_lines_next(&lines)) != NULL)
		if (strncmp(line, key, strlen(key)) == 0)
			limit = limit_from(line + strlen(key));
	ebbi_lines_close(&lines);
	return limit;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t limit_of(struct group *group, enum version version)
{
	uint64_t limit = UINT64_MAX;
	char *slash;

	if (!group->found)
		return limit;
	if (version == VERSION_1)
		limit = limit_in(group->path, "/memory.stat", "hierarchical_memory_limit ");
	for (;;) {
		if (version == VERSION_1) {
			limit = least(limit, limit_in(group->path, "/memory.limit_in_bytes", ""));
		} else {
			limit = least(limit, limit_in(group->path, "/memory.max", ""));
			limit = least(limit, limit_in(group->path, "/memory.high", ""));
		}
		slash = strrchr(group->path + group->mount_length, '/');
		if (slash == NULL)
			return limit;
		*slash = '\0';
	}
}

uint64_t ebbi_cgroup_limit_bytes(const char *root)
{
	struct group groups[VERSIONS] = {0};

	find_groups(root, groups);
	return least(limit_of(&groups[VERSION_1], VERSION_1), limit_of(&groups[VERSION_2], VERSION_2));
}
