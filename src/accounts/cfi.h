/*
 * cfi.h: what a file's unwind table says about one address: where the caller's registers are.
 *
 * Owns: reading .eh_frame by its sorted index (.eh_frame_hdr), for the few registers that a stack is walked by.
 * Never: reads outside of the file's mapping, allocates, takes a lock, aborts. libgcc's unwinder does the last two and knows
 * all registers: docs/decisions/0031 has why this is its own.
 * Threading: pure. Errors: false: no line for this address, or one in terms that are not understood; the walk ends there.
 */
#ifndef EBBI_ACCOUNTS_CFI_H
#define EBBI_ACCOUNTS_CFI_H

#include <stdbool.h>
#include <stdint.h>

#include "platform/objects.h"
#include "platform/registers.h"

enum ebbi_cfi_kind {
	EBBI_CFI_SAME,       /* the caller has the value that is here */
	EBBI_CFI_UNDEFINED,  /* of the return address: this is the outermost frame */
	EBBI_CFI_AT,         /* in memory at the frame's address + offset */
	EBBI_CFI_PLUS,       /* the frame's address + offset itself; of the frame's address: register + offset */
	EBBI_CFI_REGISTER,   /* in register */
	EBBI_CFI_EXPRESSION, /* `expression` computes the value */
	EBBI_CFI_AT_EXPRESSION,
};

struct ebbi_cfi_rule {
	uint8_t kind;   /* enum ebbi_cfi_kind */
	uint8_t reg;    /* enum ebbi_register */
	int32_t offset; /* of an expression: from the file's start */
};

struct ebbi_cfi_row {
	struct ebbi_cfi_rule frame; /* the frame's address: the caller's stack pointer, DWARF's CFA */
	struct ebbi_cfi_rule of[EBBI_REGISTERS];
	bool is_signal; /* its return address was interrupted, not left by a call */
};

bool ebbi_cfi_find(const struct ebbi_object *object, uint64_t pc, struct ebbi_cfi_row *ret_row);

/* The value of an expression; `read` reads a word of memory. */
typedef bool ebbi_cfi_read(void *context, uint64_t address, uint64_t *ret_value);

struct ebbi_cfi_machine {
	const struct ebbi_object *object;
	const struct ebbi_registers *registers;
	ebbi_cfi_read *read;
	void *context;
};

/* `first` lies on the machine's stack when it starts. */
bool ebbi_cfi_evaluate(const struct ebbi_cfi_machine *machine, int32_t expression, uint64_t first, uint64_t *ret_value);

#endif
