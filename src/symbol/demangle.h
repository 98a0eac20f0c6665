/* demangle.h: readable names of C++, Rust, D and Ada symbols. */
#ifndef SONDE_SYMBOL_DEMANGLE_H
#define SONDE_SYMBOL_DEMANGLE_H

/* A new text, or NULL when `name` is not mangled (or too long to be taken apart). Free it. Thread-safe. */
char *sonde_demangle(const char *name);

#endif
