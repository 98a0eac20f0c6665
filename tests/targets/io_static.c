/* io_static.c: reads a file, and is linked statically: no hook sees it. io_static FILE */
#include <fcntl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static char block[1 << 16];
	int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;
	while (read(fd, block, sizeof block) > 0)
		;
	usleep(300000); /* it lives long enough for the recorder to read its figures */
	return fd < 0;
}
