/*
 * words.h: the words for outcomes, sources and kinds, once for text and JSON.
 *
 * Owns: constants. Pure. Errors: none.
 */
#ifndef EBBI_REPORT_WORDS_H
#define EBBI_REPORT_WORDS_H

#include "lab/result.h"

const char *ebbi_word_outcome(enum lab_outcome outcome);
const char *ebbi_word_basis(enum basis basis);
const char *ebbi_word_peak(enum peak_source source);
const char *ebbi_word_ready(const struct run_result *result); /* tcp http log idle time */
const char *ebbi_word_preload(enum preload_state state);

const char *ebbi_word_looked(enum looked when); /* boot load-end work rest */

/* The sentence for stderr when a run did not end well; false when it did. */
bool ebbi_sentence_outcome(const struct run_result *result, char *ret_text, size_t size);

/* The sentence when the preload is not in the command; false when all is well. */
bool ebbi_sentence_preload(const struct run_result *result, char *ret_text, size_t size);

/* "exit 3", "killed by SIGSEGV": how wait(2) says a process ended. */
const char *ebbi_sentence_status(int status, char *ret_text, size_t size);

#endif
