/* executes.h: execution of programs that cannot read our files; linked into each preloaded object separately. If
 * several are loaded, their hooks form a chain: each removes its own entry, and informs its recorder.
 */
#ifndef SONDE_INJECT_HOOK_EXECUTES_H
#define SONDE_INJECT_HOOK_EXECUTES_H

/* To be called before a function that executes without an environment argument: removes our entry from the process's
 * own environment, if our files cannot be read. */
void inject_executes_own(void);

/* Implemented by an object that informs its recorder: `name` is about to be executed, and will not load the object. */
__attribute__((weak, visibility("hidden"))) void inject_executes_hidden(const char *name);

#endif
