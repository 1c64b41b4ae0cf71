/* Bursts of malloc; see burst.h. A refused block ends its burst. */
#include "burst.h"

struct block {
	struct block *next;
	size_t bytes;
};

static struct block *blocks;

/* False: refused. */
static int take(size_t bytes)
{
	struct block *block;

	if (bytes < sizeof(*block))
		bytes = sizeof(*block);
	block = malloc(bytes);
	if (block == NULL)
		return 0;
	memset(block, 0x5a, bytes);
	*block = (struct block){blocks, bytes};
	blocks = block;
	return 1;
}

/* Frees all but `keep` per cent of the blocks. */
static void drop(uint64_t *state, unsigned keep)
{
	struct block **at = &blocks;

	while (*at != NULL) {
		struct block *block = *at;

		if (burst_below(state, 100) < keep) {
			at = &block->next;
			continue;
		}
		*at = block->next;
		free(block);
	}
}

int main(int argc, char **argv)
{
	unsigned bursts = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 10;
	uint64_t state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	size_t most = (argc > 3 ? strtoull(argv[3], NULL, 10) : 64) << 20;

	for (unsigned burst = 0; burst < bursts; burst++) {
		unsigned shape = (unsigned)burst_below(&state, 5);
		size_t total = most / 4 + burst_below(&state, most - most / 4);
		size_t held = 0;
		int refused = 0;

		while (held < total && !refused) {
			size_t bytes = burst_size(&state, shape);

			refused = !take(bytes);
			held += refused ? 0 : bytes;
		}
		printf("%s %zu\n", refused ? "refused" : "done", held >> 20);
		fflush(stdout);
		drop(&state, (unsigned)burst_below(&state, 20));
	}
	printf("end %ld\n", burst_peak_kib());
	return 0;
}
