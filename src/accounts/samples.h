/*
 * samples.h: live blocks that were sampled, by address.
 *
 * Owns: the table of samples and its chains. Threading: the tables' lock is held. Errors: false: no room, or not there.
 */
#ifndef EBBI_ACCOUNTS_SAMPLES_H
#define EBBI_ACCOUNTS_SAMPLES_H

#include "accounts/tables.h"

bool ebbi_sample_add_locked(const struct ebbi_sample *sample);
bool ebbi_sample_remove_locked(const void *block, struct ebbi_sample *ret_sample);

#endif
