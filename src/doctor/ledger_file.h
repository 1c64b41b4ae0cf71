/*
 * ledger_file.h: facts that people and applications tell: ledger.json, and figures asked from an application.
 *
 * Owns: nothing. Never: believes a number that is none; keys that are not known are stepped over.
 * Threading: one thread. Errors: -EINVAL with one line that names the key (and, for text that is no JSON, the line).
 *
 * docs/doctor.md has the format; the keys of its groups are those of facts.def.
 */
#ifndef EBBI_DOCTOR_LEDGER_FILE_H
#define EBBI_DOCTOR_LEDGER_FILE_H

#include <jansson.h>

#include "doctor/facts.h"

int ebbi_facts_from_ledger(struct facts *facts, const char *bytes, size_t length, char *ret_message);

/* A figure that the application told of itself: a part of its memory, or all of it. */
void ebbi_facts_add_ledger(struct facts *facts, const char *name, uint64_t bytes, bool total);

/* The word for a kind of intervention in ledger.json. */
const char *ebbi_tried_word(enum intervention_kind kind);

#endif
