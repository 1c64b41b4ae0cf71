/*
 * terminal.h: a canvas shown in a real terminal by ncurses, and its keys.
 *
 * Owns: the terminal between open and close, and libncursesw, which is loaded for it.
 * Never: draws anything of its own. Threading: one thread; one terminal.
 * Errors: -ENOENT: libncursesw is not installed; -ENOTTY: the terminal cannot do it (none, or a dumb one).
 */
#ifndef EBBI_CLI_TERMINAL_H
#define EBBI_CLI_TERMINAL_H

#include <stdbool.h>

#include "report/canvas.h"

enum { TERMINAL_KEY_NONE = -1, TERMINAL_KEY_RESIZE = -2 };

int ebbi_terminal_open(bool colour);
void ebbi_terminal_close(void);

/* Brings the canvas to the terminal's size, which may have changed. */
int ebbi_terminal_fit(struct canvas *canvas);
void ebbi_terminal_show(const struct canvas *canvas);

/* A key as the view calls it, or one of the above after `timeout_ms`. */
int ebbi_terminal_key(int timeout_ms);

#endif
