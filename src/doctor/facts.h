/*
 * facts.h: what is known of a process's memory, each fact with its source, before anybody judges.
 *
 * Owns: nothing; one struct of some 20 KiB is filled by loaders: live.h (a process), saved.h (a directory of files).
 * Never: judges; guesses a value. Threading: one thread. Pure.
 * Errors: none; what is not known is not known.
 * Invariants: a fact that is told twice keeps what the kernel said, or else what was told first. ebbi_facts_derive comes
 * after all loaders and before the evaluation.
 */
#ifndef EBBI_DOCTOR_FACTS_H
#define EBBI_DOCTOR_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum fact_id {
#define FACT(id, group, key, unit, title) FACT_##id,
#include "doctor/facts.def"
#undef FACT
	FACT_COUNT
};

enum fact_unit { UNIT_BYTES, UNIT_COUNT, UNIT_FLAG };

struct fact {
	bool known;
	uint64_t value;
	uint64_t bound;  /* how far it may be off, each way */
	char source[32]; /* "status", "smaps", "cgroup", "malloc_info" ... */
};

struct fact_kind {
	const char *group;
	const char *key;
	enum fact_unit unit;
	const char *title;
};
extern const struct fact_kind ebbi_fact_kinds[FACT_COUNT];

/* An entry of the application's ledger. */
struct ledger_entry {
	char name[48];
	uint64_t bytes;
	bool growing;
	bool total; /* the application's figure for all of its memory, not for a part of it */
};

/* One process of a tree. */
struct process_fact {
	char name[32];
	uint64_t rss_bytes;
	uint64_t pss_bytes; /* 0: not known */
};

enum intervention_kind {
	TRIED_TRIM,        /* malloc_trim, purge, decay */
	TRIED_RELEASE,     /* the allocator says it gave back, whatever RSS does */
	TRIED_ENVIRONMENT, /* another run with a variable set */
	TRIED_ALLOCATOR,   /* another run with another allocator */
	TRIED_DROP_SLAB,   /* echo 2 > drop_caches */
	TRIED_DROP_CACHE,  /* echo 1 > drop_caches */
	TRIED_FREE_ALL,    /* a run that frees the survivors, too */
	TRIED_FREEZE,      /* the collector keeps off shared pages (gc.freeze before the fork) */
	TRIED_THP_OFF,
	TRIED_COLLECT, /* a garbage collection */
	TRIED_COUNT
};

/* Something that was done, and what memory was before and after. */
struct intervention {
	enum intervention_kind kind;
	char name[64]; /* the variable with its value, the allocator */
	bool has_bytes;
	uint64_t before_bytes;
	uint64_t after_bytes;
	uint64_t took_ms;
	bool helped; /* told in words only */
	bool falls;  /* with it, memory falls again between peaks: the program does free */
};

/* One arena of glibc's heap, as it was walked. */
struct arena_fact {
	bool main;
	uint64_t resident_bytes;
	uint64_t live_bytes;
	uint64_t trimmable_bytes; /* a trim returns it */
	uint64_t pinned_bytes;    /* free, on pages with something else */
	uint64_t top_kept_bytes;  /* free at the end of a thread's arena: no trim returns it */
	uint64_t not_walked_bytes;
};

/* The same figures at another time. */
struct moment {
	double at_s;
	uint64_t rss_bytes;  /* 0: not known */
	uint64_t live_bytes; /* 0: not known */
};

/* What a run was made with, as far as two runs must agree in it. "": not known. */
struct run_conditions {
	char kernel[64];
	char build[64];
	char environment[64]; /* the variable that was set for it */
	char phase[16];       /* boot, peak, resting */
};

#define FACTS_LEDGER 32
#define FACTS_PROCESSES 64
#define FACTS_TRIED 16
#define FACTS_MOMENTS 64
#define FACTS_ALLOCATORS 6
#define FACTS_ARENAS 16

struct facts {
	struct fact all[FACT_COUNT];
	pid_t pid; /* 0: no living process */
	char command[64];
	char allocator[32];                    /* the one whose figures these are; "": not known */
	char allocators[FACTS_ALLOCATORS][32]; /* all that are in the process */
	size_t allocator_count;
	struct run_conditions run;
	size_t ledger_count;
	struct ledger_entry ledger[FACTS_LEDGER];
	size_t process_count; /* of these, at most FACTS_PROCESSES are kept */
	struct process_fact processes[FACTS_PROCESSES];
	uint64_t process_rss_bytes; /* of all */
	uint64_t process_pss_bytes; /* of all; 0: not known of one of them */
	size_t tried_count;
	struct intervention tried[FACTS_TRIED];
	size_t arena_count; /* of these, the FACTS_ARENAS that hold most are kept */
	struct arena_fact arenas[FACTS_ARENAS];
	size_t moment_count;
	struct moment moments[FACTS_MOMENTS];
};

static inline bool ebbi_known(const struct facts *facts, enum fact_id id)
{
	return facts->all[id].known;
}

/* 0 when it is not known: for sums alone. */
static inline uint64_t ebbi_fact(const struct facts *facts, enum fact_id id)
{
	return facts->all[id].known ? facts->all[id].value : 0;
}

/* No effect when it is known already. */
void ebbi_fact_set(struct facts *facts, enum fact_id id, uint64_t value, const char *source);

/* The facts that follow from others. */
void ebbi_facts_derive(struct facts *facts);

/* Whether an allocator of that name is in the process. */
bool ebbi_facts_has_allocator(const struct facts *facts, const char *name);
void ebbi_facts_add_allocator(struct facts *facts, const char *name);
void ebbi_facts_add_process(struct facts *facts, const char *name, uint64_t rss_bytes, uint64_t pss_bytes);

#endif
