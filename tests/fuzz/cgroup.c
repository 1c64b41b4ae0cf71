/* The files of a control group, its path and its mounts. A figure never becomes known by a file that was refused. */
#include <string.h>

#include "observe/cgroup.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const char *text = (const char *)bytes;
	struct text lines = ebbi_text(text, size), line;
	static struct cgroup_memory memory, before;
	char root[16], where[16];
	const char *name;
	bool v1;

	memset(&memory, 0, sizeof(memory));
	for (size_t i = 0; (name = ebbi_cgroup_file(i)); i++) {
		before = memory;
		if (ebbi_parse_cgroup_file(&memory, name, text, size) != 0 &&
		    memcmp(memory.value, before.value, sizeof(memory.value)) != 0)
			__builtin_trap();
	}
	for (size_t i = 0; i < CGROUP_FIGURE_COUNT; i++) {
		if (!memory.has[i] && memory.value[i] != 0)
			__builtin_trap();
	}
	if (ebbi_parse_cgroup(text, size, &v1, root, sizeof(root)) && strnlen(root, sizeof(root)) == sizeof(root))
		__builtin_trap();
	while (ebbi_text_line(&lines, &line)) {
		if (ebbi_parse_cgroup_mount(&line, true, root, where, sizeof(root)) &&
		    strnlen(where, sizeof(where)) == sizeof(where))
			__builtin_trap();
		(void)ebbi_parse_cgroup_mount(&line, false, root, where, sizeof(root));
	}
	return 0;
}
