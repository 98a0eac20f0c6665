/* replay.c: runs a fuzz target over the files and folders named, with any compiler: the corpus as an ordinary test. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_b);

enum { FILE_MAX_B = 1 << 24 };

static int replay_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes = malloc(FILE_MAX_B);
	if (!file || !bytes) {
		fprintf(stderr, "replay: %s cannot be read\n", path);
		exit(1);
	}
	size_t size_b = fread(bytes, 1, FILE_MAX_B, file);
	fclose(file);
	uint8_t *exact = realloc(bytes, size_b + 1); /* so that a sanitizer sees a read behind the end */
	LLVMFuzzerTestOneInput(exact ? exact : bytes, size_b);
	free(exact ? exact : bytes);
	return 1;
}

static int replay(const char *path)
{
	DIR *folder = opendir(path);
	int count = 0;
	if (!folder)
		return replay_file(path);
	for (struct dirent *entry; (entry = readdir(folder));) {
		char name[4096];
		if (*entry->d_name == '.')
			continue;
		snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
		count += replay(name);
	}
	closedir(folder);
	return count;
}

int main(int argc, char **argv)
{
	int count = 0;
	for (int i = 1; i < argc; i++)
		count += replay(argv[i]);
	printf("%d inputs\n", count);
	return count ? 0 : 1;
}
