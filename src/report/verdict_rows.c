#include "report/verdict_rows.h"

struct maker {
	const struct facts *facts;
	struct verdict_row *rows;
	size_t count;
	uint64_t left;
};

static void row(struct maker *maker, const char *key, const char *title, bool known, uint64_t bytes, uint64_t *pool)
{
	if (!known)
		return;
	bytes = bytes < maker->left ? bytes : maker->left;
	if (pool)
		bytes = bytes < *pool ? bytes : *pool;
	maker->rows[maker->count++] = (struct verdict_row){key, title, bytes};
	maker->left -= bytes;
	if (pool)
		*pool -= bytes;
}

size_t ebbi_verdict_rows(const struct facts *facts, struct verdict_row *ret_rows)
{
	struct maker maker = {.facts = facts, .rows = ret_rows, .left = ebbi_fact(facts, FACT_RSS)};
	bool by_parts = ebbi_known(facts, FACT_RSS_ANON);
	/* Anonymous memory is divided first; without its sum, RSS is. */
	uint64_t anon = by_parts ? ebbi_fact(facts, FACT_RSS_ANON) : maker.left;
	uint64_t file = ebbi_known(facts, FACT_RSS_FILE) ? ebbi_fact(facts, FACT_RSS_FILE) : maker.left;
	bool mapped = ebbi_known(facts, FACT_OBJECTS);

	if (!ebbi_known(facts, FACT_RSS))
		return 0;
	row(&maker, "live", "live in the allocator", ebbi_known(facts, FACT_LIVE), ebbi_fact(facts, FACT_LIVE), &anon);
	row(&maker, "held", "free in the allocator", ebbi_known(facts, FACT_FREE), ebbi_fact(facts, FACT_FREE), &anon);
	row(&maker, "stacks", "stacks", ebbi_known(facts, FACT_STACKS), ebbi_fact(facts, FACT_STACKS), &anon);
	row(&maker, "anonymous", "other anonymous memory", by_parts, anon, NULL);
	row(&maker, "objects", "binary and libraries", mapped, ebbi_fact(facts, FACT_OBJECTS), &file);
	row(&maker, "data_files", "mapped data files", ebbi_known(facts, FACT_FILE_DATA),
	    ebbi_fact(facts, FACT_FILE_DATA), &file);
	row(&maker, "files", mapped ? "other files" : "files: binary, libraries, data",
	    ebbi_known(facts, FACT_RSS_FILE), file, NULL);
	row(&maker, "shared", "shared memory", ebbi_known(facts, FACT_RSS_SHMEM), ebbi_fact(facts, FACT_RSS_SHMEM),
	    NULL);
	row(&maker, "not_accounted", "not accounted", true, maker.left, NULL);
	return maker.count;
}

size_t ebbi_verdict_outside(const struct facts *facts, struct verdict_row *ret_rows)
{
	static const struct {
		const char *key;
		const char *title;
		enum fact_id id;
	} kinds[] = {
		{"page_cache", "page cache mapped by nobody (group)", FACT_UNMAPPED_CACHE},
		{"sockets", "socket buffers (group)", FACT_CG_SOCK},
		{"slab", "kernel slab (group)", FACT_KERNEL_SLAB},
		{"shared", "tmpfs and shared memory (group)", FACT_CG_SHMEM},
		{"page_tables", "page tables", FACT_PAGE_TABLES},
		{"swap", "swap", FACT_SWAP},
		{"lazyfree", "given up by MADV_FREE, yet in RSS", FACT_LAZYFREE},
	};
	size_t count = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (ebbi_known(facts, kinds[i].id))
			ret_rows[count++] =
				(struct verdict_row){kinds[i].key, kinds[i].title, ebbi_fact(facts, kinds[i].id)};
	}
	/* What none of them names is the kernel's own, or another process's. */
	if (ebbi_known(facts, FACT_CG_USAGE) && ebbi_known(facts, FACT_CG_ANON) && ebbi_known(facts, FACT_CG_FILE)) {
		uint64_t usage = ebbi_fact(facts, FACT_CG_USAGE), anon = ebbi_fact(facts, FACT_CG_ANON);
		uint64_t file = ebbi_fact(facts, FACT_CG_FILE), rest = usage > anon ? usage - anon : 0;

		ret_rows[count++] = (struct verdict_row){"group_rest", "neither anonymous nor page cache (group)",
							 rest > file ? rest - file : 0};
	}
	return count;
}
