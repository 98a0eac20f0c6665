/* executes.h: programs that are executed where our files cannot be read; in each preloaded object by itself. Where
 * several are loaded their functions stand in a chain: each leaves out its own entry, and tells its recorder.
 */
#ifndef SONDE_INJECT_HOOK_EXECUTES_H
#define SONDE_INJECT_HOOK_EXECUTES_H

/* Before a function that executes without taking an environment: our entry is taken out of the process's own, if our
 * files cannot be read. */
void inject_executes_own(void);

/* An object that has a recorder to tell has this one: `name` is about to be executed, and will not load the object. */
__attribute__((weak, visibility("hidden"))) void inject_executes_hidden(const char *name);

#endif
