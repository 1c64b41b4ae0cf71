#define NCURSES_NOMACROS 1
#define NCURSES_WIDECHAR 1
#include "cli/terminal.h"

#include <curses.h>
#include <dlfcn.h>
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "report/view.h"

/* What we need of ncurses, found at run time. */
#define CURSES_CALLS(X) \
	X(newterm) \
	X(endwin) \
	X(delscreen) \
	X(cbreak) \
	X(noecho) \
	X(keypad) \
	X(curs_set) \
	X(has_colors) \
	X(start_color) \
	X(use_default_colors) \
	X(init_pair) \
	X(wmove) \
	X(waddnstr) \
	X(wattr_set) \
	X(wnoutrefresh) \
	X(doupdate) \
	X(wtimeout) \
	X(wgetch) \
	X(resizeterm) \
	X(clearok)

static struct {
#define X(name) __typeof__ (&(name))(name);
	CURSES_CALLS(X)
#undef X
	SCREEN *screen;
	WINDOW *window;
	bool colour;
} curses;

static bool load(void)
{
	void *library = dlopen("libncursesw.so.6", RTLD_NOW | RTLD_GLOBAL);
	WINDOW **window;

	if (!library)
		return false;
		/* POSIX promises that a function's address survives the way through void *. */
#define X(name) \
	*(void **)&curses.name = dlsym(library, #name); \
	if (!curses.name) \
		return false;
	CURSES_CALLS(X)
#undef X
	window = dlsym(library, "stdscr");
	curses.screen = window ? curses.newterm(NULL, stdout, stdin) : NULL;
	curses.window = curses.screen ? *window : NULL;
	return window != NULL;
}

/* Colours of the terminal's own sixteen, so that they fit its theme. */
static const short colours[INK_COUNT] = {
	[INK_LIVE] = COLOR_GREEN, [INK_HELD] = COLOR_YELLOW, [INK_REST] = COLOR_BLUE,
	[INK_LINE] = COLOR_RED,   [INK_BAD] = COLOR_RED,
};

static void set_ink(enum ink ink)
{
	attr_t attributes = A_NORMAL;

	if (ink == INK_DIM)
		attributes = A_DIM;
	if (ink == INK_BOLD || ink == INK_BAD)
		attributes = A_BOLD;
	if (ink == INK_TITLE)
		attributes = A_REVERSE;
	curses.wattr_set(curses.window, attributes, curses.colour && colours[ink] ? (short)ink : 0, NULL);
}

int ebbi_terminal_open(bool colour)
{
	const char *kind = getenv("TERM");

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || !kind || !kind[0] || strcmp(kind, "dumb") == 0)
		return -ENOTTY;
	setlocale(LC_CTYPE, "");
	if (!load())
		return -ENOENT;
	if (!curses.screen)
		return -ENOTTY;
	curses.cbreak();
	curses.noecho();
	curses.keypad(curses.window, true);
	curses.curs_set(0);
	curses.colour = colour && curses.has_colors();
	if (curses.colour) {
		curses.start_color();
		curses.use_default_colors();
		for (int i = 1; i < INK_COUNT; i++)
			curses.init_pair((short)i, colours[i] ? colours[i] : -1, -1);
	}
	return 0;
}

void ebbi_terminal_close(void)
{
	if (!curses.screen)
		return;
	curses.endwin();
	curses.delscreen(curses.screen);
	curses.screen = NULL;
}

int ebbi_terminal_fit(struct canvas *canvas)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
		size = (struct winsize){.ws_row = 24, .ws_col = 80};
	if (canvas->cells && canvas->columns == size.ws_col && canvas->rows == size.ws_row)
		return 0;
	curses.resizeterm(size.ws_row, size.ws_col);
	curses.clearok(curses.window, true);
	return ebbi_canvas_resize(canvas, size.ws_col, size.ws_row);
}

void ebbi_terminal_show(const struct canvas *canvas)
{
	for (unsigned row = 0; row < canvas->rows; row++) {
		for (unsigned column = 0; column < canvas->columns; column++) {
			const struct cell *cell = &canvas->cells[(size_t)row * canvas->columns + column];

			curses.wmove(curses.window, (int)row, (int)column);
			set_ink((enum ink)cell->ink);
			curses.waddnstr(curses.window, cell->text, -1);
		}
	}
	curses.wnoutrefresh(curses.window);
	curses.doupdate();
}

int ebbi_terminal_key(int timeout_ms)
{
	int key;

	curses.wtimeout(curses.window, timeout_ms);
	key = curses.wgetch(curses.window);
	switch (key) {
	case ERR:
		return TERMINAL_KEY_NONE;
	case KEY_RESIZE:
		return TERMINAL_KEY_RESIZE;
	case KEY_UP:
		return VIEW_KEY_UP;
	case KEY_DOWN:
		return VIEW_KEY_DOWN;
	case KEY_PPAGE:
		return VIEW_KEY_PAGE_UP;
	case KEY_NPAGE:
		return VIEW_KEY_PAGE_DOWN;
	default:
		return key;
	}
}
