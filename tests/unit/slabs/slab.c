/* One slab: claims, puts, holes, and pages on their way to the kernel. */
#include "slabs/slab.h"

#include "check.h"
#include "child.h"
#include "seeded.h"

#define BASE ((uintptr_t)1 << 40)

/* A descriptor for any class, and the same in a byte a slot. */
static union {
	struct ebbi_slab slab;
	uint64_t room[(sizeof(struct ebbi_slab) + EBBI_SLAB_SLOTS_MOST / 8) / 8];
} memory;
static struct ebbi_slab *const slab = &memory.slab;
static bool is_free[EBBI_SLAB_SLOTS_MOST];
static unsigned slots;
static unsigned slab_pages;
static uint32_t slot_bytes;

static void begin(unsigned size_class)
{
	CHECK_LE(ebbi_slab_descriptor_bytes(size_class), sizeof(memory));
	memset(&memory, 0, sizeof(memory));
	ebbi_slab_init(slab, size_class, BASE);
	slab_pages = ebbi_sizes[size_class].slab_pages;
	slots = ebbi_sizes[size_class].slots;
	slot_bytes = ebbi_sizes[size_class].bytes;
	memset(is_free, 0, sizeof(is_free));
	memset(is_free, 1, slots);
}

/* First and last page of a slot, the slow way. */
static unsigned page_of(uint32_t offset)
{
	return offset / 4096;
}

/* The pages without a slot that is out, the slow way: of all pages, resident or not. */
static uint64_t free_pages(void)
{
	uint64_t pages = 0;

	for (unsigned page = 0; page < slab_pages; page++)
		pages |= (uint64_t)1 << page;
	for (unsigned i = 0; i < slots; i++)
		if (!is_free[i])
			for (unsigned page = page_of(i * slot_bytes); page <= page_of((i + 1) * slot_bytes - 1); page++)
				pages &= ~((uint64_t)1 << page);
	return pages;
}

static void check_against_model(void)
{
	unsigned count = 0;

	ebbi_slab_check(slab);
	for (unsigned i = 0; i < slots; i++) {
		count += is_free[i];
		CHECK_EQ((slab->free[i / 64] >> i % 64 & 1) != 0, is_free[i]);
	}
	CHECK_EQ(slab->nfree, count);
	CHECK_EQ(ebbi_slab_is_empty(slab), count == slots);
	CHECK_EQ(ebbi_slab_holes(slab), free_pages() & slab->resident);
}

/* Claim up to `most` and take them off the model. Returns how many. */
static unsigned claim(unsigned most, unsigned *ret_first)
{
	uint64_t bits = 0;
	uint64_t purged = ebbi_slab_purged(slab);
	unsigned refaults = 0;
	unsigned word = ebbi_slab_claim(slab, EBBI_CLAIM_ANY, most, &bits, &refaults);

	CHECK_NE(bits, 0u);
	CHECK_LE(ebbi_bit_count(bits), most);
	CHECK_EQ(refaults, ebbi_bit_count(purged & ~ebbi_slab_purged(slab)));
	*ret_first = word * 64 + ebbi_bit_lowest(bits);
	for (uint64_t left = bits; left != 0; left &= left - 1) {
		unsigned i = word * 64 + ebbi_bit_lowest(left);
		uint64_t pages = ebbi_slab_pages_of_slots(slab, i, i);

		CHECK_LT(i, slots);
		CHECK(is_free[i]);
		is_free[i] = false;
		CHECK_EQ(slab->resident & pages, pages);
		CHECK_EQ(slab->marked & pages, 0u);
	}
	return ebbi_bit_count(bits);
}

TEST(pages_and_slots_of_every_class)
{
	for (unsigned size_class = 1; size_class < EBBI_CLASSES; size_class++) {
		begin(size_class);
		check_against_model();
		for (unsigned i = 0; i < slots; i++) {
			uint64_t pages = ebbi_slab_pages_of_slots(slab, i, i);

			CHECK_EQ(ebbi_bit_lowest(pages), page_of(i * slot_bytes));
			CHECK_EQ(ebbi_bit_highest(pages), page_of((i + 1) * slot_bytes - 1));
		}
		for (unsigned page = 0; page < slab_pages; page++) {
			unsigned first = 0;
			unsigned last = 0;
			bool any = ebbi_slab_slots_of_page(slab, page, &first, &last);

			CHECK_EQ(any, page * 4096u < slots * slot_bytes);
			if (!any)
				continue;
			CHECK_EQ(first, page * 4096u / slot_bytes);
			CHECK_EQ(last, ((page + 1) * 4096u - 1) / slot_bytes < slots
					       ? ((page + 1) * 4096u - 1) / slot_bytes
					       : slots - 1);
		}
	}
}

TEST(claims_come_in_order)
{
	for (unsigned size_class = 1; size_class < EBBI_CLASSES; size_class++) {
		unsigned expected = 0;

		begin(size_class);
		while (slab->nfree > 0) {
			unsigned first;
			unsigned got = claim(5, &first);

			CHECK_EQ(first, expected);
			expected += got;
		}
		CHECK_EQ(expected, slots);
		check_against_model();
		CHECK_EQ(ebbi_slab_holes(slab) & ~free_pages(), 0u);
		for (unsigned i = 0; i < slots; i++) {
			CHECK(ebbi_slab_put(slab, i));
			CHECK(!ebbi_slab_put(slab, i));
			is_free[i] = true;
		}
		check_against_model();
	}
}

TEST(a_freed_slot_is_the_next)
{
	unsigned first;

	begin(EBBI_CLASS_64);
	for (unsigned i = 0; i < 10; i++)
		(void)claim(64, &first);
	CHECK(ebbi_slab_put(slab, 100));
	CHECK(ebbi_slab_put(slab, 7));
	is_free[100] = is_free[7] = true;
	CHECK_EQ(claim(64, &first), 1u);
	CHECK_EQ(first, 7u);
	CHECK_EQ(claim(64, &first), 1u);
	CHECK_EQ(first, 100u);
	CHECK_EQ(claim(64, &first), 64u);
	CHECK_EQ(first, 640u);
}

/* 4800-odd bytes: nearly every slot straddles pages. A page is a hole only when all slots on it are free. */
TEST(holes_with_straddling_slots)
{
	unsigned first;

	begin(EBBI_CLASS_5120);
	while (slab->nfree > 0)
		(void)claim(64, &first);
	/* Slot 1 is bytes 5120 to 10239: the end of page 1, the start of page 2. */
	CHECK(ebbi_slab_put(slab, 1));
	is_free[1] = true;
	CHECK_EQ(ebbi_slab_holes(slab) & 0x7, 0u);
	CHECK(ebbi_slab_put(slab, 0));
	is_free[0] = true;
	CHECK_EQ(ebbi_slab_holes(slab) & 0x7, 0x3u);
	CHECK(ebbi_slab_put(slab, 2));
	is_free[2] = true;
	CHECK_EQ(ebbi_slab_holes(slab) & 0xf, 0x7u);
	check_against_model();
}

/* What the kernel took is claimed last, and counted when it comes back. */
TEST(resident_slots_first)
{
	unsigned first;
	uint64_t pages = 0x3; /* slots 0 to 127 of 64 bytes */

	begin(EBBI_CLASS_64);
	while (slab->nfree > 0)
		(void)claim(64, &first);
	for (unsigned i = 0; i < 256; i++) {
		CHECK(ebbi_slab_put(slab, i));
		is_free[i] = true;
	}
	CHECK_EQ(ebbi_slab_withdraw(slab, pages), 128u);
	CHECK_EQ(slab->nfree, 128u);
	ebbi_slab_check(slab);
	CHECK_EQ(ebbi_slab_restore(slab, pages), 128u);
	slab->resident &= ~pages;
	slab->marked |= pages;
	check_against_model();
	CHECK_EQ(claim(64, &first), 64u);
	CHECK_EQ(first, 128u);
	CHECK_EQ(claim(64, &first), 64u);
	CHECK_EQ(first, 192u);
	CHECK_EQ(claim(64, &first), 64u);
	CHECK_EQ(first, 0u);
	CHECK_EQ(ebbi_slab_purged(slab), 0x2u);
	CHECK_EQ(slab->resident & 0x3, 0x1u);
	check_against_model();
}

/* A slot half on an absent page is not resident. */
TEST(straddling_slots_of_absent_pages)
{
	unsigned first;

	begin(EBBI_CLASS_3072);
	while (slab->nfree > 0)
		(void)claim(64, &first);
	for (unsigned i = 0; i < 4; i++) {
		CHECK(ebbi_slab_put(slab, i)); /* pages 0 to 2, exactly */
		is_free[i] = true;
	}
	CHECK_EQ(ebbi_slab_holes(slab), 0x7u);
	CHECK_EQ(ebbi_slab_withdraw(slab, 0x1), 2u);
	CHECK_EQ(ebbi_slab_restore(slab, 0x1), 2u);
	slab->resident &= ~(uint64_t)0x1;
	slab->marked |= 0x1;
	CHECK_EQ(claim(64, &first), 2u);
	CHECK_EQ(first, 2u);
	CHECK_EQ(claim(64, &first), 2u);
	CHECK_EQ(first, 0u);
	check_against_model();
}

TEST(random_operations_against_a_model)
{
	uint64_t state = 2;

	for (unsigned size_class = 1; size_class < EBBI_CLASSES; size_class++) {
		begin(size_class);
		for (unsigned step = 0; step < 3000; step++) {
			unsigned i = (unsigned)seeded_below(&state, slots);
			uint64_t pages;

			switch (seeded_below(&state, 8)) {
			case 0:
			case 1:
				if (slab->nfree > 0)
					(void)claim(1 + (unsigned)seeded_below(&state, 64), &i);
				break;
			case 2:
				pages = ebbi_slab_holes(slab) & seeded_next(&state);
				CHECK_EQ(ebbi_slab_withdraw(slab, pages), ebbi_slab_restore(slab, pages));
				slab->resident &= ~pages;
				slab->marked |= pages;
				CHECK_EQ(ebbi_slab_purged(slab) & pages, pages);
				break;
			case 3:
				slab->marked = ebbi_slab_purged(slab) | ebbi_slab_holes(slab);
				CHECK_EQ(ebbi_slab_aged(slab), ebbi_slab_holes(slab));
				break;
			default:
				CHECK_EQ(ebbi_slab_put(slab, i), !is_free[i]);
				is_free[i] = true;
			}
			if (step % 20 == 0)
				check_against_model();
		}
		check_against_model();
	}
}

static void wrong_count(void *argument)
{
	(void)argument;
	slab->nfree--;
	ebbi_slab_check(slab);
}

static void behind_the_last(void *argument)
{
	(void)argument;
	slab->free[(slots - 1) / 64] |= (uint64_t)1 << 63;
	slab->nfree++;
	ebbi_slab_check(slab);
}

static void before_first_word(void *argument)
{
	(void)argument;
	slab->first_word = 1;
	ebbi_slab_check(slab);
}

static void page_behind_the_last(void *argument)
{
	(void)argument;
	slab->marked = (uint64_t)1 << 63;
	ebbi_slab_check(slab);
}

TEST(check_finds_faults)
{
	begin(EBBI_CLASS_1280); /* 48 slots: a word has room behind the last */
	CHECK_DIES(wrong_count, NULL, "ebb: internal error: a slab's count of free slots is wrong");
	CHECK_DIES(behind_the_last, NULL, "ebb: internal error: a slab has a free slot behind its last");
	CHECK_DIES(before_first_word, NULL, "ebb: internal error: a slab has a free slot before its first word");
	CHECK_DIES(page_behind_the_last, NULL, "ebb: internal error: a slab has a page behind its last");
}

int main(void)
{
	RUN(pages_and_slots_of_every_class);
	RUN(claims_come_in_order);
	RUN(a_freed_slot_is_the_next);
	RUN(holes_with_straddling_slots);
	RUN(resident_slots_first);
	RUN(straddling_slots_of_absent_pages);
	RUN(random_operations_against_a_model);
	RUN(check_finds_faults);
	return check_report();
}
