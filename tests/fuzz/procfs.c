/* Every parser of /proc on the same bytes; the first byte is a part of them like any other. */
#include "observe/procfs.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const char *text = (const char *)bytes;
	struct text lines = ebbi_text(text, size);
	struct text line, value;
	struct proc_status status;
	struct proc_statm statm;
	struct proc_rollup rollup;
	struct proc_stat stat;
	struct proc_map map;
	char word[16];
	pid_t pid;

	(void)ebbi_parse_status(text, size, &status);
	(void)ebbi_parse_statm(text, size, 4096, &statm);
	(void)ebbi_parse_rollup(text, size, &rollup);
	(void)ebbi_parse_stat(text, size, &stat);
	(void)ebbi_parse_loadavg(text, size, &pid);
	(void)ebbi_parse_choice(text, size, word, sizeof(word));
	(void)ebbi_parse_environ(text, size, "LD_PRELOAD", &value);
	while (ebbi_text_line(&lines, &line)) {
		if (ebbi_parse_map(&line, &map) == 0 && (map.path.end > line.end || map.end < map.start))
			__builtin_trap();
	}
	return 0;
}
