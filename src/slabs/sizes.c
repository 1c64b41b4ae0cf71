#include "slabs/sizes.h"

#include "pages/pagemap.h"

#define MAGIC(bytes) (UINT32_MAX / (bytes) + 1)

const struct ebbi_size ebbi_sizes[EBBI_SIZES_ROOM] = {
#define EBBI_SIZE(size_bytes, size_pages) \
	[EBBI_CLASS_##size_bytes] = { \
		.bytes = (size_bytes), \
		.magic = MAGIC(size_bytes), \
		.slots = (uint16_t)((size_pages)*4096 / (size_bytes)), \
		.slab_pages = (size_pages), \
	},
#include "slabs/sizes.def"
#undef EBBI_SIZE
};

#define UP_TO_1024(row) \
	row(EBBI_CLASS_16, 0, 16), row(EBBI_CLASS_32, 32, 32), row(EBBI_CLASS_48, 48, 48), row(EBBI_CLASS_64, 64, 64), \
		row(EBBI_CLASS_80, 80, 80), row(EBBI_CLASS_96, 96, 96), row(EBBI_CLASS_112, 112, 112), \
		row(EBBI_CLASS_128, 128, 128), row(EBBI_CLASS_160, 144, 160), row(EBBI_CLASS_192, 176, 192), \
		row(EBBI_CLASS_224, 208, 224), row(EBBI_CLASS_256, 240, 256), row(EBBI_CLASS_320, 272, 320), \
		row(EBBI_CLASS_384, 336, 384), row(EBBI_CLASS_448, 400, 448), row(EBBI_CLASS_512, 464, 512), \
		row(EBBI_CLASS_576, 528, 576), row(EBBI_CLASS_640, 592, 640), row(EBBI_CLASS_704, 656, 704), \
		row(EBBI_CLASS_768, 720, 768), row(EBBI_CLASS_832, 784, 832), row(EBBI_CLASS_896, 848, 896), \
		row(EBBI_CLASS_960, 912, 960), row(EBBI_CLASS_1024, 976, 1024)

#define CLASS_ROW(size_class, first, last) [(first) / 16 ...(last) / 16] = (size_class)
#define OFFSET_ROW(size_class, first, last) [(first) / 16 ...(last) / 16] = ((size_class)*EBBI_CLASS_SCALE)

const uint8_t ebbi_class_table[EBBI_CLASS_TABLE_MOST / 16 + 1] = {UP_TO_1024(CLASS_ROW)};
const uint16_t ebbi_class_offsets[EBBI_CLASS_TABLE_MOST / 16 + 1] = {UP_TO_1024(OFFSET_ROW)};

unsigned ebbi_class_for(size_t bytes, size_t align_bytes)
{
	unsigned size_class;

	if (bytes > EBBI_SMALL_MOST || align_bytes > EBBI_PAGE_BYTES)
		return EBBI_CLASS_NONE;
	size_class = ebbi_class_of(bytes);
	/* Slabs start on a page, so slots are aligned to whatever divides their size. */
	while (size_class < EBBI_CLASSES && (ebbi_sizes[size_class].bytes & (align_bytes - 1)) != 0)
		size_class++;
	return size_class < EBBI_CLASSES ? size_class : EBBI_CLASS_NONE;
}
