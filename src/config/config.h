/*
 * config.h: EBB_CONF.
 *
 * Owns: struct ebbi_config, made from options.def, and its parser. Never: reads the environment
 * (the caller passes the text), allocates, prints (the caller gets each complaint as a line).
 * Threading: pure. Errors: a key that is not known or a value that does not fit is one complaint,
 * and the default stays.
 *
 * Text: "key:value,key:value"; a BOOL's key alone switches it on. Blanks around keys and values are ignored, empty items are too; a key
 * given twice takes its last value. A budget is a size, a share such as 50%, or auto. Sizes take K, M, G (binary); times take ns, us, ms, s, m and
 * need a unit unless they are 0.
 */
#ifndef EBBI_CONFIG_CONFIG_H
#define EBBI_CONFIG_CONFIG_H

#include <stddef.h>
#include <stdint.h>

enum ebbi_hugepages { EBB_HUGEPAGES_OFF, EBB_HUGEPAGES_DEFAULT, EBB_HUGEPAGES_ON };
enum ebbi_on_limit { EBB_ON_LIMIT_REFUSE, EBB_ON_LIMIT_LOG, EBB_ON_LIMIT_ABORT };
enum ebbi_check { EBB_CHECK_BASIC, EBB_CHECK_FULL };

/* A BUDGET: bytes, or one of these; a share is EBB_BUDGET_SHARE + 1 to 100. */
#define EBB_BUDGET_AUTO UINT64_MAX
#define EBB_BUDGET_SHARE ((uint64_t)1 << 63)

struct ebbi_config {
#define EBB_OPTION(name, kind, standard, min, max, help) uint64_t name;
#include "config/options.def"
#undef EBB_OPTION
};

/* Gets one line without newline, such as "EBB_CONF: unknown key 'delai'; known: delay, ...". */
typedef void ebbi_config_complain(const char *line, size_t length);

void ebbi_config_defaults(struct ebbi_config *ret_config);

/* Change `config` by `text` (NULL counts as empty). At most 8 complaints, then one that says so. */
void ebbi_config_parse(struct ebbi_config *config, const char *text, ebbi_config_complain *complain);

#endif
