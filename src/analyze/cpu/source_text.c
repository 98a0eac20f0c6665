/* source_text.c: decides which source files may be read, and reads their lines in order (cpu/source_text.h). */
#include "analyze/cpu/source_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SOURCE_MAX_B = 16 << 20, LINE_MAX_B = 400 };

/* Extensions of source files; C++ standard headers have none. */
static const char *const endings[] = {
    "c",    "h",   "cc",  "cp",  "cpp", "cxx", "c++",  "C",   "hh",    "hpp",   "hxx",  "h++", "H",   "inl",
    "ipp",  "tcc", "tpp", "txx", "inc", "ii",  "i",    "def", "s",     "S",     "asm",  "cu",  "cuh", "m",
    "mm",   "rs",  "go",  "py",  "pyx", "pxd", "pxi",  "f",   "F",     "for",   "f77",  "f90", "F90", "f95",
    "f03",  "f08", "d",   "di",  "zig", "nim", "java", "kt",  "scala", "js",    "mjs",  "ts",  "tsx", "rb",
    "lua",  "jl",  "R",   "r",   "hs",  "ml",  "mli",  "cs",  "fs",    "swift", "pas",  "adb", "ads", "v",
    "vala", "cr",  "erl", "ex",  "php", "pl",  "pm",   "y",   "l",     "re",    "c.in", "cl",
};

static int is_source_name(const char *path)
{
	static const char *const never[] = {"/proc/", "/sys/", "/dev/", NULL};
	const char *name = strrchr(path, '/'), *dot = name ? strrchr(name, '.') : NULL;
	for (size_t i = 0; never[i]; i++)
		if (strncmp(path, never[i], strlen(never[i])) == 0)
			return 0;
	if (!dot) /* <vector> */
		return strncmp(path, "/usr/include/", 13) == 0 || strstr(path, "/include/c++/") != NULL;
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
		if (strcmp(dot + 1, endings[i]) == 0)
			return 1;
	return 0;
}

static uint64_t changed_ns(const struct stat *stat)
{
	return (uint64_t)stat->st_mtim.tv_sec * 1000000000u + (uint64_t)stat->st_mtim.tv_nsec;
}

/* The latest modification time of a source file that was compiled into the module; 0 = unknown. */
static uint64_t compiled_ns(const struct sonde_session *session, uint32_t module_id)
{
	const struct sonde_module *module = sonde_session_module(session, module_id);
	uint64_t began_ns = sonde_session_head(session)->start_real_ns;
	struct stat stat_of;
	if (!began_ns || !module || *module->path != '/' || stat(module->path, &stat_of) || !S_ISREG(stat_of.st_mode))
		return began_ns;
	return changed_ns(&stat_of) < began_ns ? changed_ns(&stat_of) : began_ns;
}

/* Why a file must not be read; NULL if it may be. */
static const char *refusal(const struct stat *stat, uint64_t latest_ns)
{
	if (!S_ISREG(stat->st_mode))
		return "source file: not a regular file";
	if (stat->st_size > SOURCE_MAX_B)
		return "source file: larger than 16 MB";
	if (latest_ns && changed_ns(stat) > latest_ns)
		return "source file has changed since the program was built";
	return NULL;
}

void sonde_source_text_open(struct sonde_source_text *out, const struct sonde_session *session, uint32_t module,
			    const char *path)
{
	struct stat stat;
	ssize_t got = 0;
	*out = (struct sonde_source_text){.line = 1, .why = "source file not found"};
	if (*path != '/')
		return;
	out->why = "not the name of a source file";
	if (!is_source_name(path))
		return;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | O_NOFOLLOW);
	out->why = fd >= 0 || errno == ENOENT ? "source file not found"
		   : errno == ELOOP           ? "source file: a symbolic link, which is not followed"
					      : "source file cannot be read";
	if (fd < 0)
		return;
	if (fstat(fd, &stat) == 0)
		out->why = refusal(&stat, compiled_ns(session, module));
	if (!out->why && stat.st_size > 0)
		out->text = malloc((size_t)stat.st_size);
	while (out->text && out->size_b < (size_t)stat.st_size &&
	       (got = read(fd, out->text + out->size_b, (size_t)stat.st_size - out->size_b)) > 0)
		out->size_b += (size_t)got;
	out->why = out->text ? "no such line in the source file" : out->why ? out->why : "source file cannot be read";
	close(fd);
}

void sonde_source_text_close(struct sonde_source_text *source)
{
	free(source->text);
	*source = (struct sonde_source_text){0};
}

const char *sonde_source_text_line(struct sonde_source_text *source, uint32_t line, struct sonde_report *report)
{
	while (source->text && source->line < line && source->at < source->size_b)
		if (source->text[source->at++] == '\n')
			source->line++;
	if (!source->text || source->line != line || source->at >= source->size_b)
		return NULL;
	const char *start = source->text + source->at;
	const char *end = memchr(start, '\n', source->size_b - source->at);
	size_t len_b = end ? (size_t)(end - start) : source->size_b - source->at;
	return sonde_arena_strndup(&report->arena, start, len_b < LINE_MAX_B ? len_b : LINE_MAX_B);
}
