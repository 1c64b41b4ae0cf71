/*
 * text.h: a cursor over bytes that came from outside.
 *
 * Owns: nothing; the bytes are the caller's and need no NUL at their end.
 * Never: allocates, reads beyond `end`, reads the locale, calls the kernel.
 * Threading: pure functions. Errors: false, with the cursor where it was.
 * Invariant: at <= end.
 */
#ifndef EBBI_OBSERVE_TEXT_H
#define EBBI_OBSERVE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
	const char *at;
	const char *end;
};

static inline struct text ebbi_text(const char *bytes, size_t length)
{
	return (struct text){.at = bytes, .end = bytes + length};
}

static inline size_t ebbi_text_length(const struct text *text)
{
	return (size_t)(text->end - text->at);
}

/* The next line without its newline; false at the end. A last line without a newline counts. */
bool ebbi_text_line(struct text *text, struct text *ret_line);

/* Steps over `word` when the text starts with it. */
bool ebbi_text_skip(struct text *text, const char *word);

/* Steps over blanks and tabs. */
void ebbi_text_blanks(struct text *text);

/* A decimal number after optional blanks; false when there is none or it exceeds 64 bits. */
bool ebbi_text_decimal(struct text *text, uint64_t *ret_value);

/* The same in hexadecimal, without 0x. */
bool ebbi_text_hex(struct text *text, uint64_t *ret_value);

/* A run of bytes up to a blank or the end; false when it would be empty. */
bool ebbi_text_word(struct text *text, struct text *ret_word);

/* Copies at most size - 1 bytes and ends them with NUL; bytes below blank and DEL become '?'. */
void ebbi_text_copy(const struct text *text, char *ret_copy, size_t size);

/*
 * Makes a string fit to be shown and written anywhere: control characters become '?', and so does every byte beyond
 * ASCII when it is not UTF-8.
 */
void ebbi_text_clean(char *text);

#endif
