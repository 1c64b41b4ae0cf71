/*
 * evict.h: gives the page cache of files back, so that who opens them next reads from the disk.
 *
 * Owns: nothing. Never: follows symbolic links below the path; changes a file (what is dirty is written first).
 * Threading: one thread. Errors: negative errno of the first path that could not be read; the others are evicted all the same.
 * Pages that a living process has mapped stay.
 */
#ifndef EBBI_LAB_EVICT_H
#define EBBI_LAB_EVICT_H

/* A file, or a directory with everything below it on the same file system. */
int ebbi_evict(const char *path);

#endif
