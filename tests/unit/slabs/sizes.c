/* Size classes: every size, every class, every offset. */
#include "slabs/sizes.h"

#include "check.h"

TEST(classes_ascend)
{
	for (unsigned i = 1; i < EBBI_CLASSES; i++) {
		const struct ebbi_size *size = &ebbi_sizes[i];

		CHECK_EQ(size->bytes % EBBI_ALIGNMENT, 0u);
		if (i > 1)
			CHECK_GT(size->bytes, ebbi_sizes[i - 1].bytes);
		/* Above 128 bytes rounding wastes at most a fifth. */
		if (ebbi_sizes[i - 1].bytes >= 128)
			CHECK_LE(size->bytes - ebbi_sizes[i - 1].bytes, ebbi_sizes[i - 1].bytes / 4);
		/* And a ninth from 512 bytes to 8 KiB. */
		if (ebbi_sizes[i - 1].bytes >= 512 && size->bytes <= EBBI_CLASS_FINE_MOST)
			CHECK_LE(size->bytes - ebbi_sizes[i - 1].bytes, ebbi_sizes[i - 1].bytes / 8);
		CHECK_EQ(size->slots, (size_t)size->slab_pages * 4096 / size->bytes);
		CHECK_GE(size->slots, 1u);
		CHECK_LE(size->slots, EBBI_SLAB_SLOTS_MOST);
		CHECK_LE(size->slab_pages, EBBI_SLAB_PAGES_MOST);
		/* A word's index fits where it is kept. */
		CHECK_LE((size->slots + 63u) / 64, 255u);
		/* Nothing behind the last slot. */
		CHECK_EQ(size->slab_pages * 4096u, (unsigned)size->slots * size->bytes);
	}
	CHECK_EQ(ebbi_sizes[EBBI_CLASSES - 1].bytes, EBBI_SMALL_MOST);
	CHECK_EQ(ebbi_sizes[EBBI_CLASS_NONE].bytes, 0u);
}

TEST(every_size_gets_the_smallest_class)
{
	unsigned expected = 1;

	for (size_t bytes = 0; bytes <= EBBI_SMALL_MOST; bytes++) {
		while (ebbi_sizes[expected].bytes < bytes)
			expected++;
		CHECK_EQ(ebbi_class_of(bytes), expected);
		if (bytes > EBBI_CLASS_TABLE_MOST)
			CHECK_EQ(ebbi_class_by_bits(bytes), expected);
	}
}

/* Failures are few or very many, so that counting a CHECK for each of ten million divisions would be a waste. */
TEST(magic_division)
{
	for (unsigned i = 1; i < EBBI_CLASSES; i++) {
		unsigned wrong = 0;
		uint32_t bytes = ebbi_sizes[i].bytes;

		for (uint32_t offset = 0; offset < 1u << 18; offset++)
			wrong += ebbi_slot_index(i, offset) != offset / bytes ||
				 ebbi_slot_starts_at(ebbi_sizes[i].magic, offset) != (offset % bytes == 0);
		CHECK_EQ(wrong, 0u);
	}
	/* No slab is longer than that. */
	CHECK_LE(EBBI_SLAB_PAGES_MOST * 4096u, 1u << 18);
}

int main(void)
{
	RUN(classes_ascend);
	RUN(every_size_gets_the_smallest_class);
	RUN(magic_division);
	return check_report();
}
