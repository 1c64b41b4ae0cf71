/* The profile as pprof reads it: profile.proto of github.com/google/pprof, whose field numbers these are. */
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "report/heap.h"
#include "report/wire.h"

enum profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING_TABLE = 6,
	PROFILE_DROP_FRAMES = 7,
	PROFILE_TIME_NANOS = 9,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
};
enum value_type_field { VALUE_TYPE = 1, VALUE_UNIT = 2 };
enum sample_field { SAMPLE_LOCATION_ID = 1, SAMPLE_VALUE = 2 };
enum mapping_field {
	MAPPING_ID = 1,
	MAPPING_START = 2,
	MAPPING_LIMIT = 3,
	MAPPING_FILENAME = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	/* and filenames and line numbers between */
	MAPPING_HAS_INLINE_FRAMES = 10,
};
enum location_field { LOCATION_ID = 1, LOCATION_MAPPING_ID = 2, LOCATION_ADDRESS = 3, LOCATION_LINE = 4 };
enum line_field { LINE_FUNCTION_ID = 1, LINE_LINE = 2 };
enum function_field { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILENAME = 4 };

/* pprof leaves out functions of these names and what they call. */
#define DROP_FRAMES \
	"malloc|calloc|realloc|reallocarray|aligned_alloc|posix_memalign|memalign|valloc|pvalloc|operator new.*|__rust_.*"

struct interned {
	const char *text;
	uint64_t number;
};

struct writer {
	const struct stacks *stacks;
	const struct heap_about *about;
	struct wire out;
	struct wire message; /* within it */
	struct wire inner;   /* within that one */
	void *strings;       /* tsearch(3) */
	uint64_t string_count;
	bool *named; /* of each module: whether anything in it has a name */
};

static int compare_interned(const void *a, const void *b)
{
	return strcmp(((const struct interned *)a)->text, ((const struct interned *)b)->text);
}

/* Number of a string in the table; `text` must live as long as the writer. */
static uint64_t string_number(struct writer *writer, const char *text)
{
	struct interned *mine = malloc(sizeof(*mine));
	struct interned **found;

	if (mine)
		*mine = (struct interned){text, writer->string_count};
	found = mine ? tsearch(mine, &writer->strings, compare_interned) : NULL;
	if (!found) {
		free(mine);
		writer->out.failed = true;
		return 0;
	}
	if (*found != mine) {
		free(mine);
		return (*found)->number;
	}
	ebbi_wire_text(&writer->out, PROFILE_STRING_TABLE, text);
	return writer->string_count++;
}

static void add_text(struct writer *writer, unsigned field, const char *text)
{
	ebbi_wire_number(&writer->message, field, string_number(writer, text));
}

static void add_value_type(struct writer *writer, unsigned field, const char *type, const char *unit)
{
	add_text(writer, VALUE_TYPE, type);
	add_text(writer, VALUE_UNIT, unit);
	ebbi_wire_message(&writer->out, field, &writer->message);
}

/* --- Parts ------------------------------------------------------------------------------- */

static void add_samples(struct writer *writer)
{
	const struct profile *profile = &writer->stacks->profile;

	for (uint32_t i = 0; i < profile->site_count; i++) {
		const struct ebb_profile_site *site = &profile->sites[i];
		uint64_t places[PROFILE_DEPTH + 1];
		uint64_t values[] = {site->live_objects, site->live_bytes, site->total_objects, site->total_bytes};
		size_t count = 0;

		/* Innermost first. A stack has at most PROFILE_DEPTH places. */
		for (uint32_t node = site->node; node != 0; node = profile->nodes[node].parent)
			places[count++] = (uint64_t)writer->stacks->place_of[node] + 1;
		if (count == 0 || (site->live_bytes == 0 && site->total_bytes == 0))
			continue;
		ebbi_wire_numbers(&writer->message, SAMPLE_LOCATION_ID, places, count);
		ebbi_wire_numbers(&writer->message, SAMPLE_VALUE, values, sizeof(values) / sizeof(values[0]));
		ebbi_wire_message(&writer->out, PROFILE_SAMPLE, &writer->message);
	}
}

static void add_mapping(struct writer *writer, uint32_t number)
{
	const struct ebb_profile_module *module = &writer->stacks->profile.modules[number];
	char id[2 * EBB_PROFILE_BUILD_ID + 1] = "";
	struct wire *message = &writer->message;

	for (size_t i = 0; i < module->build_id_bytes; i++)
		snprintf(id + 2 * i, 3, "%02x", module->build_id[i]);
	ebbi_wire_number(message, MAPPING_ID, number);
	ebbi_wire_number(message, MAPPING_START, module->start);
	ebbi_wire_number(message, MAPPING_LIMIT, module->end);
	add_text(writer, MAPPING_FILENAME, module->path[0] ? module->path : writer->about->program);
	if (id[0]) {
		/* The table keeps no string: this one ends here. */
		ebbi_wire_number(message, MAPPING_BUILD_ID, writer->string_count++);
		ebbi_wire_text(&writer->out, PROFILE_STRING_TABLE, id);
	}
	/* Otherwise a reader would look for names on its own machine. */
	if (writer->named[number]) {
		for (unsigned field = MAPPING_HAS_FUNCTIONS; field <= MAPPING_HAS_INLINE_FRAMES; field++)
			ebbi_wire_number(message, field, 1);
	}
	ebbi_wire_message(&writer->out, PROFILE_MAPPING, message);
}

/* The program first: readers take the first one for it. */
static void add_mappings(struct writer *writer)
{
	const struct profile *profile = &writer->stacks->profile;
	uint32_t program = 0;

	for (uint32_t i = profile->module_count - 1; i > 0; i--) {
		if (!profile->modules[i].path[0] || strcmp(profile->modules[i].path, writer->about->program) == 0)
			program = i;
	}
	if (program != 0)
		add_mapping(writer, program);
	for (uint32_t i = 1; i < profile->module_count; i++) {
		if (i != program)
			add_mapping(writer, i);
	}
}

static void add_locations(struct writer *writer)
{
	const struct stacks *stacks = writer->stacks;

	for (uint32_t i = 0; i < stacks->place_count; i++) {
		const struct stack_place *place = &stacks->places[i];

		ebbi_wire_number(&writer->message, LOCATION_ID, (uint64_t)i + 1);
		ebbi_wire_number(&writer->message, LOCATION_MAPPING_ID, place->module);
		/* In the call, not behind it. */
		ebbi_wire_number(&writer->message, LOCATION_ADDRESS, place->address - 1);
		for (uint32_t j = 0; j < place->line_count; j++) {
			const struct stack_line *line = &stacks->lines[place->first_line + j];

			if (!stacks->functions[line->function].known)
				continue;
			ebbi_wire_number(&writer->inner, LINE_FUNCTION_ID, (uint64_t)line->function + 1);
			ebbi_wire_number(&writer->inner, LINE_LINE, line->line);
			ebbi_wire_message(&writer->message, LOCATION_LINE, &writer->inner);
		}
		ebbi_wire_message(&writer->out, PROFILE_LOCATION, &writer->message);
	}
}

static void add_functions(struct writer *writer)
{
	const struct stacks *stacks = writer->stacks;

	for (uint32_t i = 0; i < stacks->function_count; i++) {
		const struct stack_function *function = &stacks->functions[i];

		if (!function->known)
			continue;
		ebbi_wire_number(&writer->message, FUNCTION_ID, (uint64_t)i + 1);
		add_text(writer, FUNCTION_NAME, function->name);
		add_text(writer, FUNCTION_SYSTEM_NAME, function->linkage ? function->linkage : function->name);
		if (function->file)
			add_text(writer, FUNCTION_FILENAME, function->file);
		ebbi_wire_message(&writer->out, PROFILE_FUNCTION, &writer->message);
	}
}

static void add_all(struct writer *writer)
{
	struct wire *out = &writer->out;

	string_number(writer, ""); /* the format wants it first */
	add_value_type(writer, PROFILE_SAMPLE_TYPE, "inuse_objects", "count");
	add_value_type(writer, PROFILE_SAMPLE_TYPE, "inuse_space", "bytes");
	add_value_type(writer, PROFILE_SAMPLE_TYPE, "alloc_objects", "count");
	add_value_type(writer, PROFILE_SAMPLE_TYPE, "alloc_space", "bytes");
	add_samples(writer);
	add_mappings(writer);
	add_locations(writer);
	add_functions(writer);
	ebbi_wire_number(out, PROFILE_DROP_FRAMES, string_number(writer, DROP_FRAMES));
	ebbi_wire_number(out, PROFILE_TIME_NANOS, writer->about->time_ns);
	add_value_type(writer, PROFILE_PERIOD_TYPE, "space", "bytes");
	ebbi_wire_number(out, PROFILE_PERIOD, writer->stacks->profile.interval_bytes);
	ebbi_wire_number(out, PROFILE_DEFAULT_SAMPLE_TYPE,
			 string_number(writer, writer->about->total ? "alloc_space" : "inuse_space"));
}

/* --- Compression ------------------------------------------------------------------------- */

static int compress_gzip(const struct wire *wire, uint8_t **ret_bytes, size_t *ret_length)
{
	z_stream stream = {.next_in = wire->bytes, .avail_in = (uInt)wire->length};
	uint8_t *bytes;
	size_t room;
	int result;

	if (wire->length > UINT32_MAX ||
	    deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	room = deflateBound(&stream, wire->length);
	bytes = malloc(room);
	stream.next_out = bytes;
	stream.avail_out = (uInt)room;
	result = bytes && room <= UINT32_MAX ? deflate(&stream, Z_FINISH) : Z_MEM_ERROR;
	deflateEnd(&stream);
	if (result != Z_STREAM_END) {
		free(bytes);
		return -ENOMEM;
	}
	*ret_bytes = bytes;
	*ret_length = stream.total_out;
	return 0;
}

int ebbi_heap_pprof(const struct stacks *stacks, const struct heap_about *about, uint8_t **ret_bytes,
		    size_t *ret_length)
{
	struct writer writer = {.stacks = stacks, .about = about};
	int error;

	writer.named = calloc(stacks->profile.module_count, sizeof(*writer.named));
	if (!writer.named)
		return -ENOMEM;
	for (uint32_t i = 0; i < stacks->function_count; i++)
		writer.named[stacks->functions[i].module] |= stacks->functions[i].known;
	add_all(&writer);
	error = writer.out.failed || writer.message.failed || writer.inner.failed
			? -ENOMEM
			: compress_gzip(&writer.out, ret_bytes, ret_length);
	tdestroy(writer.strings, free);
	free(writer.named);
	ebbi_wire_free(&writer.out);
	ebbi_wire_free(&writer.message);
	ebbi_wire_free(&writer.inner);
	return error;
}
