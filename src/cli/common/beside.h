/* beside.h: an output that grows beside its name and gets it when it is whole.
 *
 * Neither a full disk, an error nor a signal (INT, TERM, HUP, unless they were ignored) leaves half a file, or anything
 * beside the output; what stood there before stays until the new one is on the disk. Without `force` no file is ever
 * replaced, not even one that has come to be there meanwhile. With `force` a file is; what is no regular file (a
 * folder, a device) is refused either way. One output at a time a process: the handlers of signals know one. One
 * thread.
 */
#ifndef SONDE_CLI_COMMON_BESIDE_H
#define SONDE_CLI_COMMON_BESIDE_H

struct sonde_beside {
	const char *path; /* the output; borrowed from whoever opened it */
	char *name;       /* of the file until then; ours */
	int fd;           /* of it, for reading and writing; ours */
	int force;
};

/* Makes the file, empty, for its owner alone. `path` has to live until it is closed. 0, or a negative errno with a
 * sentence, and then nothing is to be closed: -EEXIST without force, -EINVAL where it is no regular file. */
int sonde_beside_open(struct sonde_beside *out, const char *path, int force);

/* Gives the file its name, after it has come to the disk; or removes it, where `error` is not 0. Returns `error`, or a
 * negative errno with a sentence where the name could not be given; the file is gone then. */
int sonde_beside_close(struct sonde_beside *beside, int error);

#endif
