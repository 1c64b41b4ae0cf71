#include "observe/dwarf.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The calls of libdw that are made. The headers have their types. */
#define DWARF_CALLS(CALL) \
	CALL(dwfl_begin) \
	CALL(dwfl_end) \
	CALL(dwfl_report_begin) \
	CALL(dwfl_report_elf) \
	CALL(dwfl_report_end) \
	CALL(dwfl_standard_find_debuginfo) \
	CALL(dwfl_module_addrdie) \
	CALL(dwfl_module_addrinfo) \
	CALL(dwfl_module_getdwarf) \
	CALL(dwfl_module_nextcu) \
	CALL(dwarf_attr_integrate) \
	CALL(dwarf_attr) \
	CALL(dwarf_dieoffset) \
	CALL(dwarf_diename) \
	CALL(dwarf_filesrc) \
	CALL(dwarf_formstring) \
	CALL(dwarf_formudata) \
	CALL(dwarf_getscopes) \
	CALL(dwarf_getscopes_die) \
	CALL(dwarf_getsrc_die) \
	CALL(dwarf_getsrcfiles) \
	CALL(dwarf_lineno) \
	CALL(dwarf_linesrc) \
	CALL(dwarf_offdie) \
	CALL(dwarf_ranges) \
	CALL(dwarf_tag)

static struct {
#define CALL(name) __typeof__(name) *(name);
	DWARF_CALLS(CALL)
#undef CALL
} dw;
static enum { NOT_TRIED, LOADED, MISSING } state;

/* The code of a compilation unit. */
struct unit_range {
	Dwarf_Addr start;
	Dwarf_Addr end;
	Dwarf_Die *unit;
};

struct dwarf_file {
	Dwfl_Callbacks callbacks; /* libdw keeps a pointer to it */
	char *debug_path;         /* and to this */
	Dwfl *session;
	Dwfl_Module *module;
	/* Of every unit, sorted by start: for what clang and rustc make, who write no .debug_aranges. Made when needed. */
	struct unit_range *ranges;
	size_t range_count;
	size_t range_room;
	bool ranges_made;
};

static bool load(void)
{
	void *library;

	if (state != NOT_TRIED)
		return state == LOADED;
	state = MISSING;
	library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return false;
#define CALL(name) *(void **)&dw.name = dlsym(library, #name);
	DWARF_CALLS(CALL)
#undef CALL
#define CALL(name) dw.name &&
	if (DWARF_CALLS(CALL) true)
		state = LOADED;
#undef CALL
	return state == LOADED;
}

bool ebbi_dwarf_missing(void)
{
	return !load();
}

struct dwarf_file *ebbi_dwarf_open(const char *path, int fd, const char *debug_path)
{
	struct dwarf_file *file = load() ? calloc(1, sizeof(*file)) : NULL;

	if (file)
		file->debug_path = strdup(debug_path);
	if (!file || !file->debug_path) {
		close(fd);
		free(file);
		return NULL;
	}
	file->callbacks.find_debuginfo = dw.dwfl_standard_find_debuginfo;
	file->callbacks.debuginfo_path = &file->debug_path;
	file->session = dw.dwfl_begin(&file->callbacks);
	if (file->session) {
		dw.dwfl_report_begin(file->session);
		/* Laid out at its own addresses. */
		file->module = dw.dwfl_report_elf(file->session, path, path, fd, 0, true);
		dw.dwfl_report_end(file->session, NULL, NULL);
	}
	if (file->module)
		return file;
	close(fd);
	ebbi_dwarf_close(file);
	return NULL;
}

void ebbi_dwarf_close(struct dwarf_file *file)
{
	if (!file)
		return;
	if (file->session)
		dw.dwfl_end(file->session);
	free(file->ranges);
	free(file->debug_path);
	free(file);
}

/* --- Which compilation unit -------------------------------------------------------------- */

static bool add_range(struct dwarf_file *file, Dwarf_Die *unit, Dwarf_Addr start, Dwarf_Addr end)
{
	if (file->range_count == file->range_room) {
		size_t room = file->range_room ? 2 * file->range_room : 256;
		struct unit_range *ranges = realloc(file->ranges, room * sizeof(*ranges));

		if (!ranges)
			return false;
		file->ranges = ranges;
		file->range_room = room;
	}
	file->ranges[file->range_count++] = (struct unit_range){start, end, unit};
	return true;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct unit_range *left = a, *right = b;

	return left->start < right->start ? -1 : left->start > right->start;
}

static void make_ranges(struct dwarf_file *file)
{
	Dwarf_Die *unit = NULL;
	Dwarf_Addr bias;

	while ((unit = dw.dwfl_module_nextcu(file->module, unit, &bias))) {
		Dwarf_Addr base, start, end;
		ptrdiff_t at = 0;

		while ((at = dw.dwarf_ranges(unit, at, &base, &start, &end)) > 0) {
			if (end > start && !add_range(file, unit, start, end))
				break;
		}
	}
	if (file->range_count > 1)
		qsort(file->ranges, file->range_count, sizeof(*file->ranges), compare_ranges);
	file->ranges_made = true;
}

/* *ret_address is the address as the debug file has it. */
static Dwarf_Die *find_unit(struct dwarf_file *file, uint64_t address, Dwarf_Addr *ret_address)
{
	Dwarf_Addr bias = 0;
	Dwarf_Die *unit = dw.dwfl_module_addrdie(file->module, address, &bias);
	size_t low = 0, high;

	if (unit) {
		*ret_address = address - bias;
		return unit;
	}
	if (!dw.dwfl_module_getdwarf(file->module, &bias))
		return NULL;
	if (!file->ranges_made)
		make_ranges(file);
	*ret_address = address - bias;
	high = file->range_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (file->ranges[middle].start <= *ret_address)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && *ret_address < file->ranges[low - 1].end ? file->ranges[low - 1].unit : NULL;
}

/* --- Frames ------------------------------------------------------------------------------ */

static const char *linkage_of(Dwarf_Die *function)
{
	Dwarf_Attribute attribute;
	Dwarf_Attribute *found = dw.dwarf_attr_integrate(function, DW_AT_linkage_name, &attribute);

	if (!found)
		found = dw.dwarf_attr_integrate(function, DW_AT_MIPS_linkage_name, &attribute);
	return found ? dw.dwarf_formstring(found) : NULL;
}

static void report_function(Dwarf_Die *function, struct symbol_frame *place, ebbi_symbol_fn *each, void *context)
{
	const char *name = dw.dwarf_diename(function);

	place->linkage = linkage_of(function);
	place->name = name ? name : place->linkage;
	if (place->name)
		each(context, place);
}

/* Where an inlined function was called from. */
static void set_call(Dwarf_Die *inlined, Dwarf_Files *files, struct symbol_frame *place)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	place->file = NULL;
	place->line = 0;
	if (files && dw.dwarf_attr(inlined, DW_AT_call_file, &attribute) && dw.dwarf_formudata(&attribute, &value) == 0)
		place->file = dw.dwarf_filesrc(files, value, NULL, NULL);
	if (dw.dwarf_attr(inlined, DW_AT_call_line, &attribute) && dw.dwarf_formudata(&attribute, &value) == 0)
		place->line = (unsigned)value;
}

/* The scopes around the innermost one, as they lie in the code; dwarf_getscopes goes on where they were declared. */
static int find_scopes(struct dwarf_file *file, Dwarf_Die *unit, Dwarf_Addr address, Dwarf_Die **ret_scopes)
{
	Dwarf_Addr bias;
	Dwarf_Die *scopes = NULL, innermost;
	int count = dw.dwarf_getscopes(unit, address, &scopes);
	bool found = count > 0 && dw.dwarf_offdie(dw.dwfl_module_getdwarf(file->module, &bias),
						  dw.dwarf_dieoffset(&scopes[0]), &innermost);

	free(scopes);
	*ret_scopes = NULL;
	return found ? dw.dwarf_getscopes_die(&innermost, ret_scopes) : 0;
}

/* False when the debug information has no function there. */
static bool find_functions(struct dwarf_file *file, uint64_t address, ebbi_symbol_fn *each, void *context)
{
	Dwarf_Addr in_debug = 0;
	Dwarf_Die *unit = find_unit(file, address, &in_debug);
	Dwarf_Line *line = unit ? dw.dwarf_getsrc_die(unit, in_debug) : NULL;
	struct symbol_frame place = {0};
	Dwarf_Files *files = NULL;
	Dwarf_Die *scopes;
	int count, number = 0;
	bool whole = false;

	if (!unit)
		return false;
	if (line) {
		place.file = dw.dwarf_linesrc(line, NULL, NULL);
		place.line = dw.dwarf_lineno(line, &number) == 0 && number > 0 ? (unsigned)number : 0;
	}
	if (dw.dwarf_getsrcfiles(unit, &files, NULL) != 0)
		files = NULL;
	count = find_scopes(file, unit, in_debug, &scopes);
	for (int i = 0; i < count && !whole; i++) {
		int tag = dw.dwarf_tag(&scopes[i]);

		whole = tag == DW_TAG_subprogram;
		if (whole || tag == DW_TAG_inlined_subroutine)
			report_function(&scopes[i], &place, each, context);
		if (tag == DW_TAG_inlined_subroutine)
			set_call(&scopes[i], files, &place);
	}
	free(scopes);
	return whole;
}

void ebbi_dwarf_find(struct dwarf_file *file, uint64_t address, ebbi_symbol_fn *each, void *context)
{
	struct symbol_frame frame = {0};
	GElf_Off offset;
	GElf_Sym symbol;

	if (find_functions(file, address, each, context))
		return;
	frame.linkage = dw.dwfl_module_addrinfo(file->module, address, &offset, &symbol, NULL, NULL, NULL);
	frame.name = frame.linkage;
	if (frame.name && frame.name[0])
		each(context, &frame);
}
