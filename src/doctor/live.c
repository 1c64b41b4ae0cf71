#include "doctor/live.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "doctor/files.h"
#include "doctor/live_allocators.h"
#include "observe/copied.h"
#include "observe/machine.h"
#include "observe/snapshot.h"

#define SHARE_OF_GROUP 50u

static int explain(char *message, pid_t pid, int error)
{
	if (error == -ESRCH)
		snprintf(message, FACTS_MESSAGE, "process %d: there is none of that number (any more)", (int)pid);
	else if (error == -EPERM || error == -EACCES)
		snprintf(
			message, FACTS_MESSAGE,
			"process %d: its memory may not be looked at: use sudo or its own user, or allow it with setcap "
			"cap_sys_ptrace+ep on ebb (or sysctl kernel.yama.ptrace_scope=0)",
			(int)pid);
	else
		snprintf(message, FACTS_MESSAGE, "process %d: %s", (int)pid, strerror(-error));
	return error;
}

/* Told more exactly by the threads' stack pointers than by the pattern of mappings. */
static void from_holdings(struct facts *facts, const struct holdings *holdings)
{
	static const struct {
		enum holder holder;
		enum fact_id id;
	} holders[] = {
		{HOLDER_OBJECT, FACT_OBJECTS},
		{HOLDER_FILE, FACT_FILE_DATA},
	};

	ebbi_fact_set(facts, FACT_RSS, holdings->rss_bytes, "smaps");
	for (size_t i = 0; i < sizeof(holders) / sizeof(holders[0]); i++)
		ebbi_fact_set(facts, holders[i].id, ebbi_holdings_of(holdings, holders[i].holder), "smaps");
	if (holdings->stacks_unsure == 0)
		ebbi_fact_set(facts, FACT_STACKS, ebbi_holdings_of(holdings, HOLDER_STACK), "smaps");
}

/* Ebb counts live and held itself; what is neither is free on pages that hold something live. */
static void from_ebb(struct facts *facts, const struct look *look)
{
	const struct ebb_snapshot *ebb = &look->snapshot;
	uint64_t held = ebbi_snapshot_held(ebb), live = ebb->live_bytes;
	uint64_t heap = ebbi_holdings_of(&look->holdings, HOLDER_HEAP), kept = held + ebb->metadata_bytes, newer = 0;

	if (look->snapshot_error != 0)
		return;
	snprintf(facts->allocator, sizeof(facts->allocator), "ebb");
	ebbi_facts_add_allocator(facts, "ebb");
	/* Figures are up to a second old: what has come since is resident in the heap's mappings, live or freed again. */
	if (heap > kept && heap - kept > live) {
		newer = heap - kept - live;
		live += newer;
	}
	if (heap > 0)
		ebbi_fact_set(facts, FACT_RESIDENT, heap, "smaps");
	ebbi_fact_set(facts, FACT_LIVE, live, "ebb snapshot");
	facts->all[FACT_LIVE].bound = newer;
	ebbi_fact_set(facts, FACT_HELD, held, "ebb snapshot");
	ebbi_fact_set(facts, FACT_TRIMMABLE, held, "ebb snapshot");
}

/* Whose pages are compared with the process's: each costs a reading of both page maps. */
#define FORKS_MOST 16u

struct children {
	struct facts *facts;
	unsigned compared;
	uint64_t copied_bytes;
};

static int add_child(void *context, pid_t pid)
{
	struct children *children = context;
	struct facts *facts = children->facts;
	struct proc_stat stat;
	struct proc_rollup rollup;
	uint64_t copied;

	if (ebbi_proc_stat(pid, &stat) != 0 || stat.ppid != facts->pid || ebbi_proc_rollup(pid, &rollup) != 0)
		return 0;
	ebbi_facts_add_process(facts, stat.command, rollup.rss_bytes, rollup.pss_bytes);
	if (children->compared < FORKS_MOST && ebbi_copied_bytes(facts->pid, pid, &copied) == 0) {
		children->compared++;
		children->copied_bytes += copied;
	}
	return 0;
}

static void from_children(struct facts *facts, const struct look *look)
{
	struct children children = {.facts = facts};
	struct proc_rollup rollup;

	if (ebbi_proc_rollup(look->pid, &rollup) != 0)
		return;
	ebbi_facts_add_process(facts, look->command, rollup.rss_bytes, rollup.pss_bytes);
	(void)ebbi_proc_each(add_child, &children);
	if (children.compared > 0)
		ebbi_fact_set(facts, FACT_COPIED, children.copied_bytes, "pagemap");
}

/* Whether nobody else is in the group: as many processes as this one and its children. */
static bool alone(const struct facts *facts, const struct cgroup_memory *group)
{
	char path[sizeof(group->directory) + 16], bytes[4096];
	size_t lines = 0;
	ssize_t length;

	snprintf(path, sizeof(path), "%s/cgroup.procs", group->directory);
	length = ebbi_read_file(path, bytes, sizeof(bytes));
	for (ssize_t i = 0; i < length; i++)
		lines += bytes[i] == '\n';
	return length > 0 && lines == facts->process_count;
}

static void from_group(struct facts *facts, pid_t pid)
{
	static struct cgroup_memory group;
	uint64_t own = facts->process_pss_bytes;

	ebbi_cgroup_memory(pid, &group);
	if (!group.known || group.root || !group.has[CGROUP_ANON] || (!group.bites.known && !alone(facts, &group)))
		return;
	if (own < group.value[CGROUP_ANON] / 100 * SHARE_OF_GROUP)
		return;
	ebbi_facts_from_group(facts, &group);
	if (group.bites.known)
		ebbi_fact_set(facts, FACT_CG_LIMIT, group.bites.limit_bytes, "cgroup");
}

static void from_machine(struct facts *facts)
{
	struct machine machine;

	ebbi_machine_read(&machine);
	if (machine.memory_bytes > 0)
		ebbi_fact_set(facts, FACT_MEMORY, machine.memory_bytes, "meminfo");
	ebbi_fact_set(facts, FACT_CPUS, machine.cpus, "machine");
	if (strcmp(machine.thp, "always") == 0)
		ebbi_fact_set(facts, FACT_THP_ALWAYS, 1, "thp");
}

int ebbi_facts_from_process(struct facts *facts, pid_t pid, bool stop, struct look *ret_look, char *ret_message)
{
	struct looker looker = {.pid = pid};
	char directory[32];
	int error = ebbi_look(&looker, ret_look);

	if (error != 0)
		return explain(ret_message, pid, error);
	facts->pid = pid;
	memcpy(facts->command, ret_look->command, sizeof(facts->command));
	ebbi_text_clean(facts->command);
	from_holdings(facts, &ret_look->holdings);
	snprintf(directory, sizeof(directory), "/proc/%d", (int)pid);
	error = ebbi_facts_from_files(facts, directory, ret_message);
	if (error != 0)
		return explain(ret_message, pid, error == -EINVAL ? -ESRCH : error);
	from_ebb(facts, ret_look);
	ebbi_facts_from_allocators(facts, pid);
	error = ebbi_facts_from_glibc(facts, pid, stop, ret_message);
	if (error != 0)
		return error;
	from_children(facts, ret_look);
	from_group(facts, pid);
	from_machine(facts);
	return 0;
}
