#include "accounts/cfi.h"

#include "accounts/bytes.h"

/* DWARF 5, section 7.24, and the Linux Standard Base's chapter on .eh_frame. */
enum {
	OP_NOP = 0x00,
	OP_SET_LOC = 0x01,
	OP_ADVANCE1 = 0x02,
	OP_ADVANCE2 = 0x03,
	OP_ADVANCE4 = 0x04,
	OP_OFFSET_EXTENDED = 0x05,
	OP_RESTORE_EXTENDED = 0x06,
	OP_UNDEFINED = 0x07,
	OP_SAME_VALUE = 0x08,
	OP_REGISTER = 0x09,
	OP_REMEMBER = 0x0a,
	OP_RESTORE_STATE = 0x0b,
	OP_DEF_CFA = 0x0c,
	OP_DEF_CFA_REGISTER = 0x0d,
	OP_DEF_CFA_OFFSET = 0x0e,
	OP_DEF_CFA_EXPRESSION = 0x0f,
	OP_EXPRESSION = 0x10,
	OP_OFFSET_EXTENDED_SF = 0x11,
	OP_DEF_CFA_SF = 0x12,
	OP_DEF_CFA_OFFSET_SF = 0x13,
	OP_VAL_OFFSET = 0x14,
	OP_VAL_OFFSET_SF = 0x15,
	OP_VAL_EXPRESSION = 0x16,
	OP_AARCH64_SIGN_STATE = 0x2d,
	OP_GNU_ARGS_SIZE = 0x2e,
	/* In the two high bits, with an operand below. */
	OP_ADVANCE = 0x40,
	OP_OFFSET = 0x80,
	OP_RESTORE = 0xc0,
};

enum { ENCODING_SDATA4_PCREL = 0x1b, ENCODING_UDATA4 = 0x03, ENCODING_SDATA4_DATAREL = 0x3b };

#define STATES_MOST 4u

static const uint8_t numbers[EBBI_REGISTERS] = EBBI_REGISTER_NUMBERS;

/* What stands in front of a function's instructions. */
struct entry {
	const struct ebbi_object *object;
	uint64_t begin; /* address of the function */
	uint64_t code_align;
	int64_t data_align;
	bool is_signal;
	uint8_t encoding;          /* of addresses */
	bool augmented;            /* entries have augmentation data */
	struct ebbi_bytes initial; /* the instructions common to many */
	struct ebbi_bytes own;
};

struct program {
	const struct entry *entry;
	struct ebbi_cfi_row row;
	struct ebbi_cfi_row initial;
	struct ebbi_cfi_row states[STATES_MOST];
	unsigned depth;
	uint64_t at; /* the address that the row is for */
};

static struct ebbi_bytes within(const struct ebbi_object *object, const uint8_t *at)
{
	struct ebbi_bytes bytes = {at, (const uint8_t *)object->end, false};

	if ((uint64_t)at < object->start || (uint64_t)at > object->end) {
		bytes.at = bytes.end;
		bytes.bad = true;
	}
	return bytes;
}

static uint64_t encoded(struct ebbi_bytes *bytes, uint8_t encoding, bool is_length)
{
	uint64_t base = !is_length && (encoding & 0x70) == 0x10 ? (uint64_t)bytes->at : 0;
	uint64_t value;

	if (!is_length && (encoding & 0xe0) != 0)
		bytes->bad = true; /* relative to something else, indirect, or absent */
	switch (encoding & 0x0f) {
	case 0x00:
	case 0x04:
	case 0x0c:
		value = ebbi_bytes_word(bytes, 8);
		break;
	case 0x03:
		value = ebbi_bytes_word(bytes, 4);
		break;
	case 0x0b:
		value = is_length ? ebbi_bytes_word(bytes, 4) : (uint64_t)ebbi_bytes_signed(bytes, 4);
		break;
	default:
		bytes->bad = true;
		value = 0;
	}
	return value + base;
}

/* A personality routine's address, which is of no interest. */
static void skip_encoded(struct ebbi_bytes *bytes)
{
	static const uint8_t sizes[16] = {8, 0, 2, 4, 8, 0, 0, 0, 0, 0, 2, 4, 8, 0, 0, 0};
	uint8_t encoding = (uint8_t)ebbi_bytes_word(bytes, 1);

	if (encoding != 0xff && sizes[encoding & 0x0f] == 0)
		bytes->bad = true;
	ebbi_bytes_skip(bytes, encoding == 0xff ? 0 : sizes[encoding & 0x0f]);
}

/* The length of an entry, as the bounds of what follows. */
static struct ebbi_bytes bounded(struct ebbi_bytes bytes)
{
	uint64_t length = ebbi_bytes_word(&bytes, 4);

	if (length == UINT32_MAX)
		length = ebbi_bytes_word(&bytes, 8);
	if (bytes.bad || length == 0 || length > (uint64_t)(bytes.end - bytes.at))
		bytes.bad = true;
	else
		bytes.end = bytes.at + length;
	return bytes;
}

static bool read_common(struct entry *entry, const uint8_t *at)
{
	struct ebbi_bytes bytes = bounded(within(entry->object, at));
	const char *letters;
	uint64_t version;

	(void)ebbi_bytes_word(&bytes, 4);
	version = ebbi_bytes_word(&bytes, 1);
	letters = (const char *)bytes.at;
	while (ebbi_bytes_word(&bytes, 1) != 0)
		;
	entry->code_align = ebbi_bytes_uleb(&bytes);
	entry->data_align = ebbi_bytes_sleb(&bytes);
	if ((version == 1 ? ebbi_bytes_word(&bytes, 1) : ebbi_bytes_uleb(&bytes)) != numbers[EBBI_REGISTER_LINK])
		bytes.bad = true;
	if (bytes.bad || (version != 1 && version != 3))
		return false;
	entry->augmented = letters[0] == 'z';
	if (entry->augmented) {
		uint64_t length = ebbi_bytes_uleb(&bytes);
		struct ebbi_bytes data = bytes;

		for (const char *letter = letters + 1; *letter != '\0'; letter++) {
			if (*letter == 'R')
				entry->encoding = (uint8_t)ebbi_bytes_word(&data, 1);
			else if (*letter == 'P')
				skip_encoded(&data);
			else if (*letter == 'L')
				(void)ebbi_bytes_word(&data, 1);
			else if (*letter == 'S')
				entry->is_signal = true;
			else if (*letter != 'B')
				return false;
		}
		ebbi_bytes_skip(&bytes, length);
		bytes.bad |= data.bad;
	} else if (letters[0] != '\0') {
		return false;
	}
	entry->initial = bytes;
	return !bytes.bad;
}

static bool read_entry(struct entry *entry, const uint8_t *at, uint64_t pc)
{
	struct ebbi_bytes bytes = bounded(within(entry->object, at));
	const uint8_t *here = bytes.at;
	uint64_t back = ebbi_bytes_word(&bytes, 4);
	uint64_t length;

	if (bytes.bad || back == 0 || !read_common(entry, here - back))
		return false;
	entry->begin = encoded(&bytes, entry->encoding, /* is_length= */ false);
	length = encoded(&bytes, entry->encoding, /* is_length= */ true);
	if (entry->augmented)
		ebbi_bytes_skip(&bytes, ebbi_bytes_uleb(&bytes));
	entry->own = bytes;
	return !bytes.bad && pc - entry->begin < length;
}

/* The last line of the index that does not lie behind `pc`. */
static const uint8_t *find_entry(const struct ebbi_object *object, uint64_t pc)
{
	const uint8_t *header = object->eh_frame;
	struct ebbi_bytes bytes = within(object, header);
	uint64_t low = 0;
	uint64_t high;

	if (header == NULL || ebbi_bytes_word(&bytes, 1) != 1 || ebbi_bytes_word(&bytes, 1) != ENCODING_SDATA4_PCREL ||
	    ebbi_bytes_word(&bytes, 1) != ENCODING_UDATA4 || ebbi_bytes_word(&bytes, 1) != ENCODING_SDATA4_DATAREL)
		return NULL;
	(void)ebbi_bytes_word(&bytes, 4);
	high = ebbi_bytes_word(&bytes, 4);
	if (bytes.bad || high == 0 || high > (uint64_t)(bytes.end - bytes.at) / 8)
		return NULL;
	while (high - low > 1) {
		uint64_t middle = (low + high) / 2;
		struct ebbi_bytes line = {bytes.at + 8 * middle, bytes.end, false};

		if ((uint64_t)header + (uint64_t)ebbi_bytes_signed(&line, 4) <= pc)
			low = middle;
		else
			high = middle;
	}
	bytes.at += 8 * low + 4;
	return header + ebbi_bytes_signed(&bytes, 4);
}

static unsigned slot_of(uint64_t number)
{
	for (unsigned i = 0; i < EBBI_REGISTERS; i++)
		if (numbers[i] == number)
			return i;
	return EBBI_REGISTERS;
}

static void set_rule(struct program *program, uint64_t number, enum ebbi_cfi_kind kind, int64_t offset)
{
	unsigned slot = slot_of(number);

	if (slot < EBBI_REGISTERS)
		program->row.of[slot] = (struct ebbi_cfi_rule){.kind = (uint8_t)kind, .offset = (int32_t)offset};
}

static void restore(struct program *program, uint64_t number)
{
	unsigned slot = slot_of(number);

	if (slot < EBBI_REGISTERS)
		program->row.of[slot] = program->initial.of[slot];
}

/* Always true, for callers that return it. Of a register that is not known: EBBI_REGISTERS. */
static bool set_frame(struct program *program, uint64_t number, int64_t offset)
{
	unsigned slot = slot_of(number);

	program->row.frame =
		(struct ebbi_cfi_rule){.kind = EBBI_CFI_PLUS, .reg = (uint8_t)slot, .offset = (int32_t)offset};
	return true;
}

/* Where the block of an expression begins, from the file's start; the reader goes on behind it. */
static int64_t expression(const struct program *program, struct ebbi_bytes *bytes)
{
	int64_t offset = (int64_t)((uint64_t)bytes->at - program->entry->object->start);

	ebbi_bytes_skip(bytes, ebbi_bytes_uleb(bytes));
	return offset;
}

static bool one_of_frame(struct program *program, uint64_t op, struct ebbi_bytes *bytes)
{
	struct ebbi_cfi_rule *frame = &program->row.frame;
	int64_t align = program->entry->data_align;
	uint64_t number;

	switch (op) {
	case OP_DEF_CFA:
		number = ebbi_bytes_uleb(bytes);
		return set_frame(program, number, (int64_t)ebbi_bytes_uleb(bytes));
	case OP_DEF_CFA_SF:
		number = ebbi_bytes_uleb(bytes);
		return set_frame(program, number, ebbi_bytes_sleb(bytes) * align);
	case OP_DEF_CFA_REGISTER:
		return set_frame(program, ebbi_bytes_uleb(bytes), frame->offset);
	case OP_DEF_CFA_OFFSET:
		frame->offset = (int32_t)ebbi_bytes_uleb(bytes);
		return true;
	case OP_DEF_CFA_OFFSET_SF:
		frame->offset = (int32_t)(ebbi_bytes_sleb(bytes) * align);
		return true;
	case OP_DEF_CFA_EXPRESSION:
		*frame = (struct ebbi_cfi_rule){.kind = EBBI_CFI_EXPRESSION,
						.offset = (int32_t)expression(program, bytes)};
		return true;
	default:
		return false;
	}
}

static bool one_of_register(struct program *program, uint64_t op, struct ebbi_bytes *bytes)
{
	int64_t align = program->entry->data_align;
	uint64_t number = ebbi_bytes_uleb(bytes);
	unsigned other;

	switch (op) {
	case OP_OFFSET_EXTENDED:
		set_rule(program, number, EBBI_CFI_AT, (int64_t)ebbi_bytes_uleb(bytes) * align);
		return true;
	case OP_OFFSET_EXTENDED_SF:
		set_rule(program, number, EBBI_CFI_AT, ebbi_bytes_sleb(bytes) * align);
		return true;
	case OP_VAL_OFFSET:
		set_rule(program, number, EBBI_CFI_PLUS, (int64_t)ebbi_bytes_uleb(bytes) * align);
		return true;
	case OP_VAL_OFFSET_SF:
		set_rule(program, number, EBBI_CFI_PLUS, ebbi_bytes_sleb(bytes) * align);
		return true;
	case OP_RESTORE_EXTENDED:
		restore(program, number);
		return true;
	case OP_UNDEFINED:
		set_rule(program, number, EBBI_CFI_UNDEFINED, 0);
		return true;
	case OP_SAME_VALUE:
		set_rule(program, number, EBBI_CFI_SAME, 0);
		return true;
	case OP_REGISTER:
		other = slot_of(ebbi_bytes_uleb(bytes));
		set_rule(program, number, other < EBBI_REGISTERS ? EBBI_CFI_REGISTER : EBBI_CFI_UNDEFINED, 0);
		if (slot_of(number) < EBBI_REGISTERS)
			program->row.of[slot_of(number)].reg = (uint8_t)other;
		return true;
	case OP_EXPRESSION:
		set_rule(program, number, EBBI_CFI_AT_EXPRESSION, expression(program, bytes));
		return true;
	case OP_VAL_EXPRESSION:
		set_rule(program, number, EBBI_CFI_EXPRESSION, expression(program, bytes));
		return true;
	default:
		return false;
	}
}

/* An operation without a high part, other than those that move on. */
static bool one(struct program *program, uint64_t op, struct ebbi_bytes *bytes)
{
	switch (op) {
	case OP_NOP:
	case OP_AARCH64_SIGN_STATE: /* of the return address: the signature is cut off anyway */
		return true;
	case OP_GNU_ARGS_SIZE:
		(void)ebbi_bytes_uleb(bytes);
		return true;
	case OP_REMEMBER:
		if (program->depth == STATES_MOST)
			return false;
		program->states[program->depth++] = program->row;
		return true;
	case OP_RESTORE_STATE:
		if (program->depth == 0)
			return false;
		program->row = program->states[--program->depth];
		return true;
	case OP_OFFSET_EXTENDED ... OP_REGISTER:
	case OP_EXPRESSION:
	case OP_OFFSET_EXTENDED_SF:
	case OP_VAL_OFFSET ... OP_VAL_EXPRESSION:
		return one_of_register(program, op, bytes);
	default:
		return one_of_frame(program, op, bytes);
	}
}

/* The instructions up to `pc`. */
static bool run(struct program *program, struct ebbi_bytes bytes, uint64_t pc)
{
	const struct entry *entry = program->entry;

	while (bytes.at < bytes.end && !bytes.bad) {
		uint64_t op = ebbi_bytes_word(&bytes, 1);
		uint64_t low = op & 0x3f;
		uint64_t step = UINT64_MAX;

		if ((op & 0xc0) == OP_ADVANCE)
			step = low;
		else if ((op & 0xc0) == OP_OFFSET)
			set_rule(program, low, EBBI_CFI_AT, (int64_t)ebbi_bytes_uleb(&bytes) * entry->data_align);
		else if ((op & 0xc0) == OP_RESTORE)
			restore(program, low);
		else if (op >= OP_ADVANCE1 && op <= OP_ADVANCE4)
			step = ebbi_bytes_word(&bytes, 1u << (op - OP_ADVANCE1));
		else if (op == OP_SET_LOC)
			program->at = encoded(&bytes, entry->encoding, /* is_length= */ false);
		else if (!one(program, op, &bytes))
			return false;
		if (step != UINT64_MAX)
			program->at += step * entry->code_align;
		if (program->at > pc)
			return true;
	}
	return !bytes.bad;
}

bool ebbi_cfi_find(const struct ebbi_object *object, uint64_t pc, struct ebbi_cfi_row *ret_row)
{
	struct entry entry = {.object = object};
	struct program program = {.entry = &entry};
	const uint8_t *at = find_entry(object, pc);

	if (at == NULL || !read_entry(&entry, at, pc))
		return false;
	program.at = entry.begin;
	if (!run(&program, entry.initial, pc))
		return false;
	program.initial = program.row;
	if (!run(&program, entry.own, pc))
		return false;
	/* Of a register that is not known, such as the one a stack is being aligned by: no call is made there. */
	if (program.row.frame.kind == EBBI_CFI_PLUS && program.row.frame.reg >= EBBI_REGISTERS)
		return false;
	program.row.is_signal = entry.is_signal;
	*ret_row = program.row;
	return true;
}

enum { STACK_MOST = 8 };

struct machine_stack {
	uint64_t values[STACK_MOST];
	unsigned depth;
};

static bool push(struct machine_stack *stack, uint64_t value)
{
	if (stack->depth == STACK_MOST)
		return false;
	stack->values[stack->depth++] = value;
	return true;
}

/* An operation on one or two values on the stack. */
static bool operate(const struct ebbi_cfi_machine *machine, uint64_t op, struct machine_stack *stack,
		    struct ebbi_bytes *bytes)
{
	uint64_t *top = &stack->values[stack->depth - 1];

	if (stack->depth < 1)
		return false;
	if (op == 0x06) /* deref */
		return machine->read(machine->context, *top, top);
	if (op == 0x23) { /* plus_uconst */
		*top += ebbi_bytes_uleb(bytes);
		return true;
	}
	if (stack->depth < 2)
		return false;
	stack->depth--;
	if (op == 0x1a)
		top[-1] &= *top;
	else if (op == 0x1c)
		top[-1] -= *top;
	else if (op == 0x22)
		top[-1] += *top;
	else
		return false;
	return true;
}

/* The operations that compilers and the C library use for frames. */
bool ebbi_cfi_evaluate(const struct ebbi_cfi_machine *machine, int32_t expression, uint64_t first, uint64_t *ret_value)
{
	struct ebbi_bytes bytes =
		within(machine->object, (const uint8_t *)(machine->object->start + (uint32_t)expression));
	uint64_t length = ebbi_bytes_uleb(&bytes);
	struct machine_stack stack = {{first}, 1};

	if (bytes.bad || length > (uint64_t)(bytes.end - bytes.at))
		return false;
	bytes.end = bytes.at + length;
	while (bytes.at < bytes.end && !bytes.bad) {
		uint64_t op = ebbi_bytes_word(&bytes, 1);
		unsigned slot;
		bool done;

		if (op >= 0x30 && op <= 0x4f) { /* lit0... */
			done = push(&stack, op - 0x30);
		} else if (op >= 0x70 && op <= 0x8f) { /* breg0... */
			slot = slot_of(op - 0x70);
			done = slot < EBBI_REGISTERS &&
			       push(&stack, machine->registers->of[slot] + (uint64_t)ebbi_bytes_sleb(&bytes));
		} else if (op >= 0x08 && op <= 0x0f) { /* const1u, const1s, const2u... */
			done = push(&stack, (op & 1) == 0 ? ebbi_bytes_word(&bytes, 1u << ((op - 8) / 2))
							  : (uint64_t)ebbi_bytes_signed(&bytes, 1u << ((op - 8) / 2)));
		} else {
			done = operate(machine, op, &stack, &bytes);
		}
		if (!done)
			return false;
	}
	*ret_value = stack.values[stack.depth - 1];
	return !bytes.bad;
}
