/* curses.c: the few ncurses functions that a list needs, looked up by name in libncursesw.so.6.
 *
 * Its header is not needed: the functions used have not changed since ABI 6 (2015), and are declared here.
 */
#include "cli/top/curses.h"

#include <dlfcn.h>
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "export/clean.h"
#include "util/buf.h"
#include "util/error.h"

#define LIBRARY "libncursesw.so.6"
#define ATTRIBUTE_REVERSE (1 << 18)
#define ATTRIBUTE_BOLD (1 << 21)
#define ATTRIBUTE_PAIR(n) ((n) << 8)
#define COLOR_RED 1
#define COLOR_GREEN 2
#define OWN_COLOR (-1)
#define LINE_MAX_B (16 << 10)

/* Names, results and arguments as in curses.h; windows and terminals are opaque. */
#define FUNCTIONS(X)                                       \
	X(newterm, void *, (const char *, FILE *, FILE *)) \
	X(delscreen, void, (void *))                       \
	X(endwin, int, (void))                             \
	X(cbreak, int, (void))                             \
	X(noecho, int, (void))                             \
	X(curs_set, int, (int))                            \
	X(has_colors, unsigned char, (void))               \
	X(start_color, int, (void))                        \
	X(use_default_colors, int, (void))                 \
	X(init_pair, int, (short, short, short))           \
	X(set_escdelay, int, (int))                        \
	X(keypad, int, (void *, unsigned char))            \
	X(wtimeout, void, (void *, int))                   \
	X(wgetch, int, (void *))                           \
	X(werase, int, (void *))                           \
	X(wclear, int, (void *))                           \
	X(wrefresh, int, (void *))                         \
	X(wmove, int, (void *, int, int))                  \
	X(wattrset, int, (void *, int))                    \
	X(waddnstr, int, (void *, const char *, int))      \
	X(wclrtoeol, int, (void *))                        \
	X(getmaxx, int, (const void *))                    \
	X(getmaxy, int, (const void *))

static struct {
#define DECLARE(name, result, arguments) result(*name) arguments;
	FUNCTIONS(DECLARE)
#undef DECLARE
	void **stdscr; /* a variable of the library */
	void *screen;
	int has_color;
} curses;

int sonde_curses_load(void)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return sonde_error(ENOENT,
				   "the screen needs ncurses (" LIBRARY ", Debian's libncursesw6), which is not "
				   "installed; --once works without it");
	int whole = (curses.stdscr = (void **)dlsym(library, "stdscr")) != NULL;
#define FIND(name, result, arguments) \
	whole = whole && (curses.name = (result(*) arguments)dlsym(library, #name)) != NULL;
	FUNCTIONS(FIND)
#undef FIND
	if (whole)
		return 0;
	dlclose(library);
	return sonde_error(ENOENT, LIBRARY " lacks functions that the screen needs; --once works without it");
}

int sonde_curses_open(int color)
{
	const char *terminal = getenv("TERM");
	setlocale(LC_CTYPE, "");
	curses.screen = terminal && *terminal ? curses.newterm(NULL, stdout, stdin) : NULL;
	if (!curses.screen)
		return sonde_error(ENOTTY, "ncurses does not know the terminal '%s': set TERM=xterm, or use --once",
				   terminal ? terminal : "");
	curses.cbreak();
	curses.noecho();
	curses.curs_set(0);
	curses.set_escdelay(50);
	curses.keypad(*curses.stdscr, 1);
	curses.has_color = color && curses.has_colors() && !curses.start_color() && !curses.use_default_colors();
	if (curses.has_color) {
		curses.init_pair(1, COLOR_GREEN, OWN_COLOR);
		curses.init_pair(2, COLOR_RED, OWN_COLOR);
	}
	return 0;
}

void sonde_curses_close(void)
{
	if (!curses.screen)
		return;
	curses.endwin();
	curses.delscreen(curses.screen);
	curses.screen = NULL;
}

int sonde_curses_key(int timeout_ms)
{
	curses.wtimeout(*curses.stdscr, timeout_ms);
	return curses.wgetch(*curses.stdscr);
}

void sonde_curses_size(int *lines, int *columns)
{
	*lines = curses.getmaxy(*curses.stdscr);
	*columns = curses.getmaxx(*curses.stdscr);
}

void sonde_curses_clear(int torn)
{
	if (torn)
		curses.wclear(*curses.stdscr);
	else
		curses.werase(*curses.stdscr);
}

static int attribute_of(enum sonde_curses_look look)
{
	switch (look) {
	case SONDE_CURSES_BOLD:
		return ATTRIBUTE_BOLD;
	case SONDE_CURSES_BAR:
		return ATTRIBUTE_REVERSE;
	case SONDE_CURSES_GOOD:
		return curses.has_color ? ATTRIBUTE_BOLD | ATTRIBUTE_PAIR(1) : ATTRIBUTE_BOLD;
	case SONDE_CURSES_BAD:
		return curses.has_color ? ATTRIBUTE_BOLD | ATTRIBUTE_PAIR(2) : ATTRIBUTE_BOLD;
	case SONDE_CURSES_PLAIN:
		break;
	}
	return 0;
}

void sonde_curses_line(int line, enum sonde_curses_look look, const char *text)
{
	struct sonde_buf cut;
	int lines, columns;
	sonde_curses_size(&lines, &columns);
	if (line < 0 || line >= lines || columns <= 0)
		return;
	sonde_buf_init(&cut, LINE_MAX_B);
	size_t used = sonde_clean_head(&cut, text, (size_t)columns);
	for (; look == SONDE_CURSES_BAR && used < (size_t)columns; used++)
		sonde_buf_append(&cut, " ", 1);
	curses.wmove(*curses.stdscr, line, 0);
	curses.wattrset(*curses.stdscr, attribute_of(look));
	curses.waddnstr(*curses.stdscr, (const char *)cut.data, (int)cut.len_b);
	curses.wattrset(*curses.stdscr, 0);
	sonde_buf_fini(&cut);
}

void sonde_curses_show(void)
{
	curses.wrefresh(*curses.stdscr);
}
