/* A snapshot as another process might have it. What is understood has names that end. */
#include "observe/snapshot.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct ebb_snapshot snapshot;

	if (ebbi_snapshot_parse(bytes, size, &snapshot) != 0)
		return 0;
	for (size_t i = 0; i < EBB_SNAPSHOT_ACCOUNTS; i++) {
		if (!memchr(snapshot.accounts[i].name, 0, sizeof(snapshot.accounts[i].name)))
			__builtin_trap();
	}
	for (size_t i = 0; i < EBB_SNAPSHOT_OWNERS; i++) {
		if (!memchr(snapshot.owners[i].name, 0, sizeof(snapshot.owners[i].name)))
			__builtin_trap();
	}
	return 0;
}
