#include "accounts/stacks.h"

#include "accounts/modules.h"

static uint64_t hash_of(uint32_t parent, uint64_t address)
{
	return ebbi_hash(address ^ ebbi_hash(parent));
}

static uint64_t node_hash(uint32_t node)
{
	return hash_of(ebbi_tables.nodes[node].parent, ebbi_tables.nodes[node].address);
}

static uint32_t *node_next(uint32_t node)
{
	return &ebbi_tables.nodes_more[node].next;
}

static uint32_t node_locked(uint32_t parent, uint64_t address, uint32_t module)
{
	struct ebbi_tables *tables = &ebbi_tables;
	struct ebbi_chains *chains = &tables->node_chains;
	uint32_t number = ebb_shared_profile.nodes;
	uint32_t *head = ebbi_chain_of(chains, hash_of(parent, address));

	for (uint32_t node = *head; node != 0; node = tables->nodes_more[node].next) {
		const struct ebb_profile_node *at = &tables->nodes[node];

		if (at->parent == parent && at->address == address && at->module == module)
			return node;
	}
	if (number == EBBI_NODES_MOST >> ebbi_tables.halvings)
		return 0;
	if (number > chains->used && chains->used < chains->most) {
		ebbi_chains_widen_locked(chains, node_hash, node_next);
		head = ebbi_chain_of(chains, hash_of(parent, address));
	}
	tables->nodes[number] = (struct ebb_profile_node){address, parent, module};
	tables->nodes_more[number].next = *head;
	*head = number;
	ebbi_store_release(&ebb_shared_profile.nodes, number + 1);
	return number;
}

uint32_t ebbi_stack_owner(const struct ebbi_stack *stack)
{
	uint32_t plumbing = 0;

	for (unsigned i = stack->count; i-- > 0;)
		if (ebbi_module_kind(stack->modules[i]) == EBBI_MODULE_PLUMBING)
			plumbing = stack->modules[i];
	for (unsigned i = 0; i < stack->count; i++)
		if (ebbi_module_kind(stack->modules[i]) == EBBI_MODULE_ORDINARY)
			return stack->modules[i];
	return plumbing;
}

uint32_t ebbi_site_of_locked(const struct ebbi_stack *stack)
{
	struct ebbi_tables *tables = &ebbi_tables;
	uint32_t number = ebb_shared_profile.sites;
	uint32_t node = 0;

	for (unsigned i = stack->count; i-- > 0;) {
		node = node_locked(node, stack->addresses[i], stack->modules[i]);
		if (node == 0)
			return 0;
	}
	if (tables->nodes_more[node].site != 0)
		return tables->nodes_more[node].site;
	if (number == EBBI_SITES_MOST >> ebbi_tables.halvings)
		return 0;
	tables->sites[number] = (struct ebb_profile_site){.node = node, .owner = ebbi_stack_owner(stack)};
	tables->nodes_more[node].site = number;
	ebbi_store_release(&ebb_shared_profile.sites, number + 1);
	return number;
}
