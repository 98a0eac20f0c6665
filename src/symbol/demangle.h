/* demangle.h: demangles C++, Rust, D and Ada symbols. */
#ifndef SONDE_SYMBOL_DEMANGLE_H
#define SONDE_SYMBOL_DEMANGLE_H

/* A newly allocated text, or NULL if `name` is not mangled or too long. The caller frees it. Thread-safe. */
char *sonde_demangle(const char *name);

#endif
