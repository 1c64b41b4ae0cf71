/*
 * tree: a tree of a quarter million small nodes is built and then freed as a
 * whole, many times over, with short-lived small trees between; one tree lives
 * throughout. Nodes carry 0-48 bytes of payload.
 */
#include "../bench.h"

struct node {
	struct node *left, *right;
	uint32_t depth, payload;
};

static struct rng rng;
static uint64_t nodes;

static struct node *tree_build(uint32_t depth)
{
	uint32_t payload = (uint32_t)(rng_next(&rng) >> 60) * 3;
	struct node *n = need(malloc(sizeof(*n) + payload));

	n->depth = depth;
	n->payload = payload;
	n->left = depth > 0 ? tree_build(depth - 1) : NULL;
	n->right = depth > 0 ? tree_build(depth - 1) : NULL;
	nodes++;
	return n;
}

static void tree_free(struct node *n, uint32_t depth)
{
	if (n == NULL)
		return;
	if (n->depth != depth)
		probe_die("a node lost its content");
	tree_free(n->left, depth - 1);
	tree_free(n->right, depth - 1);
	free(n);
}

int main(int argc, char **argv)
{
	struct bench b;
	struct node *kept;
	uint64_t rounds;

	bench_begin(&b, argc, argv, "tree");
	rng_seed(&rng, 8);
	rounds = bench_count(&b, 34);
	kept = tree_build(16);
	for (uint64_t i = 0; i < rounds; i++) {
		struct node *big = tree_build(17);

		for (int k = 0; k < 400; k++)
			tree_free(tree_build(7), 7);
		tree_free(big, 17);
	}
	tree_free(kept, 16);
	bench_end(&b, nodes, nodes);
	return 0;
}
