#include "observe/machine.h"

#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "observe/procread.h"

#define THP_PATH "/sys/kernel/mm/transparent_hugepage/enabled"
#define COUNTERS 3u
/* SPLIT_RSS_COUNTING of Linux up to 6.1: a thread's cache of one counter. */
#define OLD_THREAD_PAGES 64u

static void read_thp(char *ret_thp, size_t size)
{
	char bytes[128];
	ssize_t length = ebbi_read_file(THP_PATH, bytes, sizeof(bytes));

	if (length < 0 || ebbi_parse_choice(bytes, (size_t)length, ret_thp, size) != 0)
		snprintf(ret_thp, size, "unknown");
}

void ebbi_machine_read(struct machine *ret_machine)
{
	struct machine machine = {.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE)};
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct utsname names;
	struct sysinfo info;

	machine.cpus = cpus > 0 ? (uint32_t)cpus : 1;
	if (uname(&names) == 0) {
		snprintf(machine.kernel, sizeof(machine.kernel), "%s", names.release);
		snprintf(machine.architecture, sizeof(machine.architecture), "%.31s", names.machine);
	} else {
		snprintf(machine.kernel, sizeof(machine.kernel), "unknown");
		snprintf(machine.architecture, sizeof(machine.architecture), "unknown");
	}
	if (sysinfo(&info) == 0) {
		machine.memory_bytes = (uint64_t)info.totalram * info.mem_unit;
		machine.swap_bytes = (uint64_t)info.totalswap * info.mem_unit;
	}
	read_thp(machine.thp, sizeof(machine.thp));
	*ret_machine = machine;
}

uint64_t ebbi_counter_bound(const char *release, uint32_t cpus, uint64_t page_bytes, uint64_t threads)
{
	uint64_t major = 0, minor = 0, batch;
	struct text text = ebbi_text(release, strlen(release));

	if (ebbi_text_decimal(&text, &major) && ebbi_text_skip(&text, "."))
		ebbi_text_decimal(&text, &minor);
	if (major > 0 && (major < 6 || (major == 6 && minor < 2)))
		return COUNTERS * OLD_THREAD_PAGES * threads * page_bytes;
	batch = 2 * (uint64_t)cpus > 32 ? 2 * (uint64_t)cpus : 32;
	return COUNTERS * batch * cpus * page_bytes;
}
