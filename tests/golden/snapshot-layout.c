/*
 * The layout of struct ebb_snapshot, held against a file.
 *
 *   golden-snapshot-layout [--update] FILE
 *
 * A figure more at the end of stats.def is a change that readers understand: write the file anew. Any other difference
 * needs another EBB_SNAPSHOT_VERSION.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ebb/ebb.h>

static void print_layout(FILE *stream)
{
#define ROW(type, field) \
	fprintf(stream, "%-12s %-22s %5zu %5zu\n", #type, #field, offsetof(struct ebb_##type, field), \
		sizeof(((struct ebb_##type *)NULL)->field))
	fprintf(stream, "version %u\n", EBB_SNAPSHOT_VERSION);
	ROW(shared, magic);
	ROW(shared, sequence);
	ROW(shared, snapshot);
	ROW(snapshot, size_bytes);
	ROW(snapshot, version);
	ROW(snapshot, stats);
	ROW(snapshot, classes_room);
	ROW(snapshot, accounts_room);
	ROW(snapshot, owners_room);
#define EBB_STAT(name, unit, help) ROW(snapshot, name);
#include <ebb/stats.def>
#undef EBB_STAT
	ROW(snapshot, classes);
	ROW(snapshot, accounts);
	ROW(snapshot, owners);
	ROW(class, size_bytes);
	ROW(class, slabs);
	ROW(class, live_slots);
	ROW(class, cached_slots);
	ROW(class, free_slots);
	ROW(account, name);
	ROW(account, live_bytes);
	ROW(account, peak_bytes);
	ROW(account, limit_bytes);
	ROW(account, soft_limit_bytes);
	ROW(account, refusals);
	ROW(owner, name);
	ROW(owner, live_bytes);
	ROW(owner, error_bytes);
	ROW(owner, samples);
	fprintf(stream, "%-12s %-22s %5s %5zu\n", "snapshot", "", "", sizeof(struct ebb_snapshot));
#undef ROW
}

static int compare(const char *is, const char *path)
{
	static char golden[65536];
	FILE *file = fopen(path, "r");
	size_t length = file ? fread(golden, 1, sizeof(golden) - 1, file) : 0;

	if (file)
		fclose(file);
	golden[length] = 0;
	if (strcmp(is, golden) == 0)
		return 0;
	fprintf(stderr, "%s is not the layout any more, which is:\n%s", path, is);
	return 1;
}

int main(int argc, char **argv)
{
	char *is = NULL;
	size_t length = 0;
	FILE *stream = open_memstream(&is, &length);
	int result = 2;

	if (!stream)
		return 2;
	print_layout(stream);
	fclose(stream);
	if (argc == 2) {
		result = compare(is, argv[1]);
	} else if (argc == 3 && strcmp(argv[1], "--update") == 0) {
		FILE *file = fopen(argv[2], "w");

		result = file && fputs(is, file) >= 0 && fclose(file) == 0 ? 0 : 2;
	}
	free(is);
	return result;
}
