/*
 * modules.h: the files that code came from, and whose account their memory goes to.
 *
 * Owns: the table of modules and that of owners (accounts/tables.h). A module stays when its file is unloaded; another file at
 * the same place is another module. Modules whose shown names are alike have one owner.
 *
 * Never: calls into the loader. Threading: any; one that is not known yet is added under the tables' lock.
 * Errors: 0, code of no file, also when the table is full.
 */
#ifndef EBBI_ACCOUNTS_MODULES_H
#define EBBI_ACCOUNTS_MODULES_H

#include "accounts/tables.h"
#include "platform/objects.h"

/* The number of the module; the tables are made, their lock is not held. */
uint32_t ebbi_module_number(const struct ebbi_object *object);

static inline enum ebbi_module_kind ebbi_module_kind(uint32_t module)
{
	return (enum ebbi_module_kind)ebbi_tables.modules_more[module].kind;
}

/* The shown name of a file: without directories, of a library without what follows its name. Cut to `size` with its end. */
void ebbi_module_shown_name(const char *path, char *ret_name, size_t size);

#endif
