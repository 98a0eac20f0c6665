/* curses.h: a terminal screen, through ncurses if it is installed. It is loaded on demand, so that neither building nor
 * running sonde requires it.
 *
 * Lines are clean UTF-8 (export/clean.h). Only the terminal's own foreground and background are used, plus a red and a
 * green that are readable on both; no colours with NO_COLOR.
 */
#ifndef SONDE_CLI_TOP_CURSES_H
#define SONDE_CLI_TOP_CURSES_H

enum sonde_curses_look {
	SONDE_CURSES_PLAIN = 0,
	SONDE_CURSES_BOLD,
	SONDE_CURSES_BAR, /* reverse video: headings, the selected row */
	SONDE_CURSES_GOOD,
	SONDE_CURSES_BAD,
};

/* Results of sonde_curses_key() that are not characters, with the numbers that ncurses uses. */
enum sonde_curses_key {
	SONDE_KEY_NONE = -1,
	SONDE_KEY_DOWN = 0402,
	SONDE_KEY_UP = 0403,
	SONDE_KEY_LEFT = 0404,
	SONDE_KEY_RIGHT = 0405,
	SONDE_KEY_HOME = 0406,
	SONDE_KEY_F0 = 0410,
	SONDE_KEY_PAGE_DOWN = 0522,
	SONDE_KEY_PAGE_UP = 0523,
	SONDE_KEY_ENTER = 0527,
	SONDE_KEY_END = 0550,
	SONDE_KEY_RESIZE = 0632,
};

/* Loads ncurses; call it first. -ENOENT with a message: ncurses is not installed. */
int sonde_curses_load(void);

/* Opens the screen, of which a process has only one. -ENOTTY with a message: it is not a terminal that ncurses
 * knows. */
int sonde_curses_open(int color);
void sonde_curses_close(void);

int sonde_curses_key(int timeout_ms);
void sonde_curses_size(int *lines, int *columns);
/* Clears the screen. With `torn`, everything is redrawn, because the contents of the terminal are unreliable. */
void sonde_curses_clear(int torn);
/* Draws a line, padded with blanks to the screen's width. */
void sonde_curses_line(int line, enum sonde_curses_look look, const char *text);
void sonde_curses_show(void);

#endif
