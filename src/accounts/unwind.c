#include "accounts/unwind.h"

#include "accounts/cfi.h"
#include "accounts/modules.h"
#include "base/build.h"
#include "pages/pagemap.h"
#include "platform/cpu.h"
#include "platform/vm.h"

#define ADDRESS_MASK (((uint64_t)1 << EBBI_CPU_ADDRESS_BITS) - 1) /* a signed return address has more */
#define FRAMES_WITHOUT_FILE_MOST 32u
#define FRAME_BYTES_MOST ((uint64_t)8 << 20)

/*
 * What the tables said of an address, in a word, for the frames that nearly all are: the frame's address is a register's
 * plus something, registers are saved below it or left alone.
 *
 *   bits 0..1   valid, is the frame's address relative to the frame register (or the stack's)
 *   bits 2..15  how far, in words
 *   16 bits each: where link, frame and spare register are saved, in words from the frame's address; 0: nowhere
 *
 * The key has the word mixed in, so that two halves that do not belong together are no entry: no lock is needed.
 */
#define CACHE_LINES 512u

static struct {
	uint64_t key;  /* relaxed */
	uint64_t line; /* relaxed */
} cache[CACHE_LINES];

struct walk {
	struct ebbi_registers registers;
	struct ebbi_object object; /* the last one */
	uint32_t module;
	bool is_exact;          /* the address was interrupted: it is no return address */
	uint64_t readable_page; /* the last that was asked about */
	unsigned without_file;  /* frames in a row */
};

static bool read_word(void *context, uint64_t address, uint64_t *ret_value);

/* The stack of others is none of a sanitizer's business. */
__attribute__((no_sanitize("address", "thread"))) static bool read_word(void *context, uint64_t address,
									uint64_t *ret_value)
{
	struct walk *walk = context;

	if ((address & 7) != 0 || address < EBBI_PAGE_BYTES || address > ADDRESS_MASK)
		return false;
	if (address >> EBBI_PAGE_SHIFT != walk->readable_page) {
		if (!ebbi_vm_is_readable(address))
			return false;
		walk->readable_page = address >> EBBI_PAGE_SHIFT;
	}
	*ret_value = *(const volatile uint64_t *)address;
	return true;
}

static bool fits_word(int32_t offset)
{
	return offset % 8 == 0 && offset / 8 >= INT16_MIN && offset / 8 <= INT16_MAX && offset != 0;
}

/* 0: not one of the usual. */
static uint64_t packed(const struct ebbi_cfi_row *row)
{
	static const unsigned saved[3] = {EBBI_REGISTER_LINK, EBBI_REGISTER_FRAME, EBBI_REGISTER_SPARE};
	uint64_t line = 1;

	if (row->is_signal || row->frame.kind != EBBI_CFI_PLUS || row->frame.reg > EBBI_REGISTER_FRAME ||
	    row->frame.offset < 0 || row->frame.offset % 8 != 0 || row->frame.offset / 8 >= 1 << 14 ||
	    row->of[EBBI_REGISTER_STACK].kind != EBBI_CFI_SAME)
		return 0;
	line |= row->frame.reg == EBBI_REGISTER_FRAME ? 2 : 0;
	line |= (uint64_t)(row->frame.offset / 8) << 2;
	for (unsigned i = 0; i < 3; i++) {
		const struct ebbi_cfi_rule *rule = &row->of[saved[i]];

		if (rule->kind == EBBI_CFI_AT && fits_word(rule->offset))
			line |= (uint64_t)(uint16_t)(rule->offset / 8) << (16 * (i + 1));
		else if (rule->kind != EBBI_CFI_SAME)
			return 0;
	}
	return line;
}

static bool load_saved(struct walk *walk, uint64_t frame, uint64_t line, unsigned shift, uint64_t *value)
{
	int64_t words = (int16_t)(line >> shift);

	return words == 0 || read_word(walk, frame + (uint64_t)(words * 8), value);
}

/* To the caller, where its frame's address and the registers are known. */
static bool arrive(struct walk *walk, uint64_t frame, const uint64_t of[EBBI_REGISTERS], bool was_signal)
{
	uint64_t pc = of[EBBI_REGISTER_LINK] & ADDRESS_MASK;
	uint64_t stack = walk->registers.of[EBBI_REGISTER_STACK];

	/* Frames lie one above the other, except at a handler's that has a stack of its own. */
	if (pc == 0 || (!was_signal && (frame <= stack || frame - stack > FRAME_BYTES_MOST)))
		return false;
	for (unsigned i = 0; i < EBBI_REGISTERS; i++)
		walk->registers.of[i] = of[i];
	walk->registers.of[EBBI_REGISTER_STACK] = frame;
	walk->registers.pc = pc;
	walk->is_exact = was_signal;
	return true;
}

static bool step_packed(struct walk *walk, uint64_t line)
{
	uint64_t of[EBBI_REGISTERS];
	uint64_t frame = walk->registers.of[(line & 2) != 0 ? EBBI_REGISTER_FRAME : EBBI_REGISTER_STACK];

	frame += (line >> 2 & 0x3fff) * 8;
	for (unsigned i = 0; i < EBBI_REGISTERS; i++)
		of[i] = walk->registers.of[i];
	return load_saved(walk, frame, line, 16, &of[EBBI_REGISTER_LINK]) &&
	       load_saved(walk, frame, line, 32, &of[EBBI_REGISTER_FRAME]) &&
	       load_saved(walk, frame, line, 48, &of[EBBI_REGISTER_SPARE]) &&
	       arrive(walk, frame, of, /* was_signal= */ false);
}

static bool follow(struct walk *walk, const struct ebbi_cfi_rule *rule, uint64_t frame, uint64_t *value)
{
	const struct ebbi_cfi_machine machine = {&walk->object, &walk->registers, read_word, walk};

	switch (rule->kind) {
	case EBBI_CFI_SAME:
		return true;
	case EBBI_CFI_AT:
		return read_word(walk, frame + (uint64_t)(int64_t)rule->offset, value);
	case EBBI_CFI_PLUS:
		*value = frame + (uint64_t)(int64_t)rule->offset;
		return true;
	case EBBI_CFI_REGISTER:
		*value = walk->registers.of[rule->reg];
		return true;
	case EBBI_CFI_EXPRESSION:
		return ebbi_cfi_evaluate(&machine, rule->offset, frame, value);
	case EBBI_CFI_AT_EXPRESSION:
		return ebbi_cfi_evaluate(&machine, rule->offset, frame, value) && read_word(walk, *value, value);
	default:
		*value = 0;
		return true;
	}
}

static bool step_row(struct walk *walk, const struct ebbi_cfi_row *row)
{
	const struct ebbi_cfi_machine machine = {&walk->object, &walk->registers, read_word, walk};
	uint64_t of[EBBI_REGISTERS];
	uint64_t frame;

	if (row->frame.kind == EBBI_CFI_PLUS)
		frame = walk->registers.of[row->frame.reg] + (uint64_t)(int64_t)row->frame.offset;
	else if (row->frame.kind != EBBI_CFI_EXPRESSION || !ebbi_cfi_evaluate(&machine, row->frame.offset, 0, &frame))
		return false;
	for (unsigned i = 0; i < EBBI_REGISTERS; i++) {
		of[i] = walk->registers.of[i];
		if (i != EBBI_REGISTER_STACK && !follow(walk, &row->of[i], frame, &of[i]))
			return false;
	}
	return arrive(walk, frame, of, row->is_signal);
}

static bool step_by_table(struct walk *walk, uint64_t pc)
{
	struct ebbi_cfi_row row;
	unsigned at = (unsigned)(ebbi_hash(pc) >> 16) % CACHE_LINES;
	uint64_t mixed = pc ^ (uint64_t)walk->module << 48;
	uint64_t line = ebbi_load_relaxed(&cache[at].line);

	if (line != 0 && (ebbi_load_relaxed(&cache[at].key) ^ line) == mixed)
		return step_packed(walk, line);
	if (!ebbi_cfi_find(&walk->object, pc, &row))
		return false;
	line = packed(&row);
	if (line == 0)
		return step_row(walk, &row);
	ebbi_store_relaxed(&cache[at].key, mixed ^ line);
	ebbi_store_relaxed(&cache[at].line, line);
	return step_packed(walk, line);
}

/* Code of no file, of a just-in-time compiler: the frame register points at the caller's, the return address is above. */
static bool step_by_frame_pointer(struct walk *walk)
{
	uint64_t of[EBBI_REGISTERS] = {0};
	uint64_t at = walk->registers.of[EBBI_REGISTER_FRAME];

	if (++walk->without_file > FRAMES_WITHOUT_FILE_MOST || at < walk->registers.of[EBBI_REGISTER_STACK])
		return false;
	return read_word(walk, at, &of[EBBI_REGISTER_FRAME]) && read_word(walk, at + 8, &of[EBBI_REGISTER_LINK]) &&
	       arrive(walk, at + 16, of, /* was_signal= */ false);
}

/* Which module the address lies in; false: none. */
static bool locate(struct walk *walk, uint64_t pc)
{
	if (walk->module != 0 && pc >= walk->object.start && pc < walk->object.end)
		return true;
	walk->module = 0;
	if (!ebbi_object_find(pc, &walk->object))
		return false;
	walk->module = ebbi_module_number(&walk->object);
	return true;
}

/* Not inlined: its frame is the first, and this library's. */
__attribute__((noinline)) void ebbi_unwind(struct ebbi_stack *ret_stack)
{
	struct walk walk = {.is_exact = true};
	bool is_outside = false;

	ret_stack->count = 0;
	ebbi_registers_read(&walk.registers);
	walk.readable_page = walk.registers.of[EBBI_REGISTER_STACK] >> EBBI_PAGE_SHIFT;
	while (ret_stack->count < EBBI_FRAMES_MOST) {
		uint64_t pc = walk.registers.pc - !walk.is_exact;
		bool known = locate(&walk, pc);

		is_outside |= !known || ebbi_module_kind(walk.module) != EBBI_MODULE_OWN;
		if (is_outside) {
			ret_stack->modules[ret_stack->count] = (uint16_t)walk.module;
			ret_stack->addresses[ret_stack->count++] = pc + 1;
		}
		if (known)
			walk.without_file = 0;
		if (!(known ? step_by_table(&walk, pc) : step_by_frame_pointer(&walk)))
			return;
	}
}
