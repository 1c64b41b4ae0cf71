#include "platform/report.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/fmt.h"
#include "platform/syscall.h"

void ebbi_report_write(const char *text, size_t length)
{
	(void)ebbi_syscall3(SYS_write, 2, (long)text, (long)length);
}

void ebbi_report_abort(void)
{
	abort();
}

/* The line ends here and the process with it. */
static _Noreturn void end(struct ebbi_fmt *line)
{
	if (line->length == line->capacity)
		line->length--;
	ebbi_fmt_char(line, '\n');
	ebbi_report_write(line->text, line->length);
	abort();
}

static void begin(struct ebbi_fmt *line, const char *what, const void *pointer)
{
	ebbi_fmt_text(line, "ebb: ");
	ebbi_fmt_text(line, what);
	ebbi_fmt_text(line, " of ");
	ebbi_fmt_hex(line, (uintptr_t)pointer);
	ebbi_fmt_text(line, ": ");
}

static void begin_invalid(struct ebbi_fmt *line, const char *what, const void *pointer)
{
	ebbi_fmt_text(line, "ebb: invalid ");
	ebbi_fmt_text(line, what);
	ebbi_fmt_text(line, " of ");
	ebbi_fmt_hex(line, (uintptr_t)pointer);
	ebbi_fmt_text(line, ": ");
}

/* Freeing what is free has a name of its own. */
static void begin_free(struct ebbi_fmt *line, const char *what, const void *pointer)
{
	if (strcmp(what, "free") == 0)
		begin(line, "double free", pointer);
	else
		begin_invalid(line, what, pointer);
}

void ebbi_report_free_slot(const char *what, const void *pointer, size_t slot_bytes)
{
	char text[256];
	struct ebbi_fmt line = ebbi_fmt_into(text, sizeof(text));

	begin_free(&line, what, pointer);
	ebbi_fmt_text(&line, "a ");
	ebbi_fmt_decimal(&line, slot_bytes);
	ebbi_fmt_text(&line, "-byte slot that is already free");
	end(&line);
}

void ebbi_report_free_run(const char *what, const void *pointer)
{
	char text[256];
	struct ebbi_fmt line = ebbi_fmt_into(text, sizeof(text));

	begin_free(&line, what, pointer);
	ebbi_fmt_text(&line, "a block of large pages that is already free");
	end(&line);
}

void ebbi_report_inside_slot(const char *what, const void *pointer, size_t slot_bytes, const void *start)
{
	char text[256];
	struct ebbi_fmt line = ebbi_fmt_into(text, sizeof(text));

	begin_invalid(&line, what, pointer);
	ebbi_fmt_text(&line, "inside a ");
	ebbi_fmt_decimal(&line, slot_bytes);
	ebbi_fmt_text(&line, "-byte slot that starts at ");
	ebbi_fmt_hex(&line, (uintptr_t)start);
	end(&line);
}

void ebbi_report_inside_block(const char *what, const void *pointer, size_t block_bytes, const void *start)
{
	char text[256];
	struct ebbi_fmt line = ebbi_fmt_into(text, sizeof(text));

	begin_invalid(&line, what, pointer);
	ebbi_fmt_text(&line, "inside a block of ");
	ebbi_fmt_decimal(&line, block_bytes);
	ebbi_fmt_text(&line, " bytes that starts at ");
	ebbi_fmt_hex(&line, (uintptr_t)start);
	end(&line);
}

void ebbi_report_foreign(const char *what, const void *pointer)
{
	char text[256];
	struct ebbi_fmt line = ebbi_fmt_into(text, sizeof(text));

	begin_invalid(&line, what, pointer);
	ebbi_fmt_text(&line, "not memory of this heap");
	end(&line);
}

static _Noreturn void end_found_by(struct ebbi_fmt *line, const char *what)
{
	ebbi_fmt_text(line, " was written, found by ");
	ebbi_fmt_text(line, what);
	end(line);
}

void ebbi_report_overflow(const char *what, const void *pointer, size_t bytes, size_t offset)
{
	char text[256];
	struct ebbi_fmt line = ebbi_fmt_into(text, sizeof(text));

	begin(&line, "overflow", pointer);
	ebbi_fmt_text(&line, "offset ");
	ebbi_fmt_decimal(&line, offset);
	ebbi_fmt_text(&line, " of a block of ");
	ebbi_fmt_decimal(&line, bytes);
	ebbi_fmt_text(&line, " bytes");
	end_found_by(&line, what);
}

void ebbi_report_overflow_end(const char *what, const void *pointer, size_t room_bytes)
{
	char text[256];
	struct ebbi_fmt line = ebbi_fmt_into(text, sizeof(text));

	begin(&line, "overflow", pointer);
	ebbi_fmt_text(&line, "the end of its ");
	ebbi_fmt_decimal(&line, room_bytes);
	ebbi_fmt_text(&line, " bytes of room");
	end_found_by(&line, what);
}

void ebbi_report_underflow(const char *what, const void *pointer, size_t bytes)
{
	char text[256];
	struct ebbi_fmt line = ebbi_fmt_into(text, sizeof(text));

	begin(&line, "underflow", pointer);
	ebbi_fmt_text(&line, "in front of a block of ");
	ebbi_fmt_decimal(&line, bytes);
	ebbi_fmt_text(&line, " bytes");
	end_found_by(&line, what);
}

void ebbi_report_use_after_free(const void *pointer, size_t offset, size_t slot_bytes)
{
	char text[256];
	struct ebbi_fmt line = ebbi_fmt_into(text, sizeof(text));

	begin(&line, "use after free", pointer);
	ebbi_fmt_text(&line, "offset ");
	ebbi_fmt_decimal(&line, offset);
	ebbi_fmt_text(&line, " of a ");
	ebbi_fmt_decimal(&line, slot_bytes);
	ebbi_fmt_text(&line, "-byte slot was written while it was free");
	end(&line);
}

void ebbi_report_use_after_free_block(const void *pointer, uintptr_t address, size_t bytes)
{
	char text[256];
	struct ebbi_fmt line = ebbi_fmt_into(text, sizeof(text));
	bool before = address < (uintptr_t)pointer;

	begin(&line, "use after free", pointer);
	ebbi_fmt_text(&line, before ? "offset -" : "offset ");
	ebbi_fmt_decimal(&line, before ? (uintptr_t)pointer - address : address - (uintptr_t)pointer);
	ebbi_fmt_text(&line, " of a block of ");
	ebbi_fmt_decimal(&line, bytes);
	ebbi_fmt_text(&line, " bytes was written while it was free");
	end(&line);
}

void ebbi_report_size(const char *what, const void *pointer, size_t bytes, size_t said_bytes)
{
	char text[256];
	struct ebbi_fmt line = ebbi_fmt_into(text, sizeof(text));

	begin_invalid(&line, what, pointer);
	ebbi_fmt_text(&line, "a block of ");
	ebbi_fmt_decimal(&line, bytes);
	ebbi_fmt_text(&line, " bytes, said to have ");
	ebbi_fmt_decimal(&line, said_bytes);
	end(&line);
}

void ebbi_report_internal(const char *what)
{
	char text[256];
	struct ebbi_fmt line = ebbi_fmt_into(text, sizeof(text));

	ebbi_fmt_text(&line, "ebb: internal error: ");
	ebbi_fmt_text(&line, what);
	end(&line);
}
