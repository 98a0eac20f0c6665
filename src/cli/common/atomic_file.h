/* atomic_file.h: an output file that appears under its name only when it is complete.
 *
 * Neither a full disk nor an error nor a signal (INT, TERM, HUP, unless ignored) leaves a partial file, or any other
 * file; an existing output stays until the new one is on disk. Without `force`, no file is ever replaced, not even a
 * file created in the meantime. With `force`, a regular file is replaced; anything else (a folder, a device) is refused
 * either way. One output at a time per process, because the signal handlers can clean up only one. Single-threaded.
 *
 *	int error = sonde_atomic_file_open(&file, path, force);
 *	if (!error)
 *		error = sonde_atomic_file_close(&file, write_all(file.fd)); // renamed, or removed on error
 */
#ifndef SONDE_CLI_COMMON_ATOMIC_FILE_H
#define SONDE_CLI_COMMON_ATOMIC_FILE_H

struct sonde_atomic_file {
	const char *path; /* the output; borrowed from the caller */
	char *name;       /* temporary name; owned */
	int fd;           /* for reading and writing; owned */
	int force;
};

/* Creates the file, empty, accessible to its owner only. `path` must live until the file is closed. 0, or a negative
 * errno with a message, after which nothing must be closed: -EEXIST if the file exists and `force` is 0, -EINVAL if the
 * existing file is not regular. */
int sonde_atomic_file_open(struct sonde_atomic_file *out, const char *path, int force);

/* Syncs the file and gives it its name; or removes it if `error` is not 0. Returns `error`, or a negative errno with a
 * message if renaming failed; the file is removed then. */
int sonde_atomic_file_close(struct sonde_atomic_file *file, int error);

#endif
