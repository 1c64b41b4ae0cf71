#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor/files.h"
#include "doctor/live.h"
#include "observe/cgroup.h"

#define COPY_MOST ((size_t)256 << 20)

static int fail(char *message, const char *path, int error)
{
	snprintf(message, FACTS_MESSAGE, "%.300s: %s", path, strerror(-error));
	return error;
}

/* -ENOENT: there is no such file, which is none of the errors. */
static int copy(const char *from, int directory, const char *name)
{
	int in = open(from, O_RDONLY | O_CLOEXEC), out, error = 0;
	char bytes[1 << 14];
	size_t all = 0;

	if (in < 0)
		return -ENOENT;
	out = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (out < 0)
		error = -errno;
	while (error == 0 && all < COPY_MOST) {
		ssize_t got = read(in, bytes, sizeof(bytes));

		/* What the kernel has not got (kernel memory of version 1) cannot be read: an empty file is left out below. */
		if (got <= 0)
			break;
		if (write(out, bytes, (size_t)got) != got)
			error = errno != 0 ? -errno : -ENOSPC;
		all += (size_t)got;
	}
	close(in);
	if (out >= 0 && close(out) != 0 && error == 0)
		error = -errno;
	if (out >= 0 && all == 0)
		(void)unlinkat(directory, name, 0);
	return error;
}

/* The facts of groups that no file of the kernel's holds. */
static json_t *ledger_of(const struct facts *facts)
{
	json_t *document = json_object(), *list = json_array();

	for (enum fact_id id = 0; id < FACT_COUNT; id++) {
		const struct fact_kind *kind = &ebbi_fact_kinds[id];
		json_t *group;

		if (!facts->all[id].known ||
		    (strcmp(kind->group, "allocator") != 0 && strcmp(kind->group, "limit") != 0 &&
		     strcmp(kind->group, "mappings") != 0))
			continue;
		group = json_object_get(document, kind->group);
		if (!group) {
			group = json_object();
			json_object_set_new(document, kind->group, group);
		}
		json_object_set_new(group, kind->key,
				    kind->unit == UNIT_FLAG ? json_boolean(facts->all[id].value != 0)
							    : json_integer((json_int_t)facts->all[id].value));
	}
	json_object_set_new(document, "command", json_string(facts->command));
	if (facts->allocator[0]) {
		if (!json_object_get(document, "allocator"))
			json_object_set_new(document, "allocator", json_object());
		json_object_set_new(json_object_get(document, "allocator"), "name", json_string(facts->allocator));
	}
	for (size_t i = 0; i < facts->allocator_count; i++)
		json_array_append_new(list, json_string(facts->allocators[i]));
	json_object_set_new(document, "allocators", list);
	list = json_array();
	for (size_t i = 0; i < facts->ledger_count; i++)
		json_array_append_new(list,
				      json_pack("{s:s, s:I, s:b}", "name", facts->ledger[i].name, "bytes",
						(json_int_t)facts->ledger[i].bytes, "total", facts->ledger[i].total));
	json_object_set_new(document, "ledger", list);
	list = json_array();
	for (size_t i = 0; i < facts->process_count && i < FACTS_PROCESSES; i++)
		json_array_append_new(list, json_pack("{s:s, s:I, s:I}", "name", facts->processes[i].name, "rss_bytes",
						      (json_int_t)facts->processes[i].rss_bytes, "pss_bytes",
						      (json_int_t)facts->processes[i].pss_bytes));
	json_object_set_new(document, "processes", list);
	return document;
}

static int save_ledger(const struct facts *facts, int directory)
{
	json_t *document = ledger_of(facts);
	int fd = openat(directory, "ledger.json", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int error = fd < 0 ? -errno : 0;

	if (error == 0 && json_dumpfd(document, fd, JSON_INDENT(2) | JSON_PRESERVE_ORDER) != 0)
		error = -EIO;
	if (fd >= 0 && close(fd) != 0 && error == 0)
		error = -errno;
	json_decref(document);
	return error;
}

static int save_files(pid_t pid, const struct cgroup_memory *group, int directory, char *message)
{
	const char *name;

	for (size_t i = 0; (name = ebbi_facts_file_name(i)) != NULL; i++) {
		char path[sizeof(group->directory) + 64];
		int error;

		if (strncmp(name, "memory.", 7) == 0 && (!group || !group->known || group->root))
			continue;
		if (strncmp(name, "memory.", 7) == 0)
			snprintf(path, sizeof(path), "%s/%s", group->directory, name);
		else if (strcmp(name, "meminfo") == 0)
			snprintf(path, sizeof(path), "/proc/meminfo");
		else if (strcmp(name, "thp") == 0)
			snprintf(path, sizeof(path), "/sys/kernel/mm/transparent_hugepage/enabled");
		else
			snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
		error = copy(path, directory, name);
		if (error != 0 && error != -ENOENT)
			return fail(message, name, error);
	}
	return 0;
}

/* What was begun is no evidence: another try finds the directory's name free. */
static void unmake(const char *directory, int fd)
{
	const char *name;

	for (size_t i = 0; (name = ebbi_facts_file_name(i)) != NULL; i++)
		(void)unlinkat(fd, name, 0);
	(void)rmdir(directory);
}

int ebbi_facts_save(const struct facts *facts, pid_t pid, const char *directory, char *ret_message)
{
	static struct cgroup_memory group;
	bool by_group = ebbi_known(facts, FACT_CG_USAGE);
	int fd, error;

	if (mkdir(directory, 0700) != 0)
		return fail(ret_message, directory, -errno);
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return fail(ret_message, directory, -errno);
	ebbi_cgroup_memory(pid, &group);
	error = save_files(pid, by_group ? &group : NULL, fd, ret_message);
	if (error == 0 && (error = save_ledger(facts, fd)) != 0)
		(void)fail(ret_message, "ledger.json", error);
	if (error != 0)
		unmake(directory, fd);
	close(fd);
	return error;
}
