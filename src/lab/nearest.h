/*
 * nearest.h: which word somebody meant who wrote another one.
 *
 * Owns: nothing; the words are the caller's. Pure. Threading: any. Errors: none.
 */
#ifndef EBBI_LAB_NEAREST_H
#define EBBI_LAB_NEAREST_H

struct nearest {
	const char *wanted;
	const char *found; /* NULL: none is near */
	unsigned most;     /* changed letters that still count as near */
};

/* Takes `candidate` when it is nearer than what was found before. */
void ebbi_nearest_try(struct nearest *nearest, const char *candidate);

#endif
