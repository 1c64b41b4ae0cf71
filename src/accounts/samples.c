#include "accounts/samples.h"

static uint64_t hash_of(uint64_t block)
{
	return ebbi_hash(block) >> 8;
}

static uint64_t sample_hash(uint32_t number)
{
	return hash_of(ebbi_tables.samples[number].block);
}

static uint32_t *sample_next(uint32_t number)
{
	return &ebbi_tables.samples[number].next;
}

bool ebbi_sample_add_locked(const struct ebbi_sample *sample)
{
	struct ebbi_tables *tables = &ebbi_tables;
	struct ebbi_chains *chains = &tables->sample_chains;
	uint32_t number = tables->samples_free;
	uint32_t *head;

	if (number != 0) {
		tables->samples_free = tables->samples[number].next;
	} else if (tables->samples_used < EBBI_SAMPLES_MOST >> tables->halvings) {
		number = tables->samples_used;
		ebbi_store_relaxed(&tables->samples_used, number + 1);
	} else {
		return false;
	}
	if (number > chains->used && chains->used < chains->most)
		ebbi_chains_widen_locked(chains, sample_hash, sample_next);
	head = ebbi_chain_of(chains, hash_of(sample->block));
	tables->samples[number] = *sample;
	tables->samples[number].next = *head;
	*head = number;
	ebbi_counter_add(&tables->samples_live, 1u);
	return true;
}

bool ebbi_sample_remove_locked(const void *block, struct ebbi_sample *ret_sample)
{
	struct ebbi_tables *tables = &ebbi_tables;
	uint32_t *link = ebbi_chain_of(&tables->sample_chains, hash_of((uint64_t)block));
	uint32_t number;

	while (*link != 0 && tables->samples[*link].block != (uint64_t)block)
		link = &tables->samples[*link].next;
	number = *link;
	if (number == 0)
		return false;
	*ret_sample = tables->samples[number];
	*link = ret_sample->next;
	tables->samples[number].next = tables->samples_free;
	tables->samples_free = number;
	ebbi_counter_sub(&tables->samples_live, 1u);
	return true;
}
