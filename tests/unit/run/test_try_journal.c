/* test_try_journal.c: a journal loses no entry: not with several writers, not after a damaged line, not on a full
 * disk. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "run/journal.h"
#include "util/error.h"

static char folder[64];
static struct sonde_journal journal;

struct seen {
	size_t count;
	unsigned of[16];
	char last[4096];
};

static int take(void *context, const char *line, size_t len)
{
	struct seen *seen = context;
	unsigned who = 0;
	assert_int_equal(strlen(line), len);
	seen->count++;
	if (sscanf(line, "{\"who\":%u", &who) == 1)
		seen->of[who % 16]++;
	snprintf(seen->last, sizeof seen->last, "%s", line);
	return 0;
}

static size_t read_all(struct seen *seen)
{
	size_t damaged;
	*seen = (struct seen){0};
	assert_int_equal(sonde_journal_read(&journal, take, seen, &damaged), 0);
	return damaged;
}

static int begin(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/sonde-journal-XXXXXX");
	assert_non_null(mkdtemp(folder));
	assert_int_equal(sonde_journal_init(&journal, folder), 0);
	assert_int_equal(sonde_journal_name(&journal, "parser"), 0);
	return 0;
}

static int end(void **state)
{
	char path[128];
	(void)state;
	unlink(journal.path);
	snprintf(path, sizeof path, "%s/.gitignore", folder);
	unlink(path);
	rmdir(folder);
	return 0;
}

static void what_is_appended_is_read(void **state)
{
	struct seen seen;
	(void)state;
	assert_int_equal(sonde_journal_append(&journal, "{\"who\":1,\"text\":\"ä \\\" }\"}\n"), 0);
	assert_int_equal(sonde_journal_append(&journal, "{\"who\":2}"), 0);
	assert_int_equal(read_all(&seen), 0);
	assert_int_equal(seen.count, 2);
	assert_int_equal(strncmp(seen.last, "{\"who\":2,\"xxh3\":\"", 17), 0);
	assert_int_equal(seen.last[strlen(seen.last) - 1], '}');
}

static void several_at_once_lose_none(void **state)
{
	enum { WRITERS = 8, ENTRIES = 25, TEXT_B = 3000 };
	struct seen seen;
	char text[TEXT_B + 64];
	int status;
	(void)state;
	for (unsigned who = 0; who < WRITERS; who++)
		if (!fork()) {
			int at = snprintf(text, sizeof text, "{\"who\":%u,\"text\":\"", who);
			memset(text + at, 'x', TEXT_B);
			strcpy(text + at + TEXT_B, "\"}");
			int code = 0;
			for (int i = 0; !code && i < ENTRIES; i++)
				code = sonde_journal_append(&journal, text);
			_exit(code != 0);
		}
	for (int i = 0; i < WRITERS; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	assert_int_equal(read_all(&seen), 0);
	assert_int_equal(seen.count, WRITERS * ENTRIES);
	for (int i = 0; i < WRITERS; i++)
		assert_int_equal(seen.of[i], ENTRIES);
}

/* The journal as a writer leaves it that was killed while it wrote. */
static void half_a_line_spoils_no_other(void **state)
{
	struct seen seen;
	struct stat info;
	(void)state;
	assert_int_equal(sonde_journal_append(&journal, "{\"who\":1}"), 0);
	assert_int_equal(sonde_journal_append(&journal, "{\"who\":2}"), 0);
	assert_int_equal(stat(journal.path, &info), 0);
	for (off_t cut = 1; cut < 12; cut += 5) {
		assert_int_equal(truncate(journal.path, info.st_size - cut), 0);
		assert_int_equal(read_all(&seen), cut > 1); /* only the line feed: all is there */
		assert_int_equal(seen.count, cut > 1 ? 1 : 2);
	}
	assert_int_equal(sonde_journal_append(&journal, "{\"who\":3}"), 0);
	assert_int_equal(read_all(&seen), 1);
	assert_int_equal(seen.count, 2);
	assert_int_equal(seen.of[3], 1);
}

static void a_changed_byte_is_seen(void **state)
{
	struct seen seen;
	char byte;
	(void)state;
	assert_int_equal(sonde_journal_append(&journal, "{\"who\":1,\"wall_s\":1.25}"), 0);
	assert_int_equal(sonde_journal_append(&journal, "{\"who\":2}"), 0);
	int fd = open(journal.path, O_RDWR);
	assert_int_equal(pread(fd, &byte, 1, 18), 1);
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, 1, 18), 1);
	close(fd);
	assert_int_equal(read_all(&seen), 1);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.of[2], 1);
}

static void without_room_nothing_is_lost(void **state)
{
	struct seen seen;
	struct rlimit old, limit;
	struct stat before, after;
	char text[600];
	(void)state;
	memset(text, 'x', sizeof text);
	memcpy(text, "{\"who\":4,\"text\":\"", 17);
	strcpy(text + sizeof text - 3, "\"}");
	assert_int_equal(sonde_journal_append(&journal, "{\"who\":1}"), 0);
	assert_int_equal(stat(journal.path, &before), 0);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	limit = old;
	limit.rlim_cur = 300;
	setrlimit(RLIMIT_FSIZE, &limit);
	int code = sonde_journal_append(&journal, text);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(code, -EFBIG);
	assert_non_null(strstr(sonde_error_text(), "not added to the journal"));
	assert_int_equal(stat(journal.path, &after), 0);
	assert_int_equal(before.st_size, after.st_size);
	assert_int_equal(sonde_journal_append(&journal, text), 0);
	assert_int_equal(read_all(&seen), 0);
	assert_int_equal(seen.count, 2);
}

static void names_are_names_of_files(void **state)
{
	static const char *const bad[] = {"", ".", "..", "a/b", "/etc/passwd", "-x", ".hidden", "a\nb", "a\033[31m"};
	struct sonde_journal_names names;
	char longest[300];
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(sonde_journal_name(&journal, bad[i]), -EINVAL);
	memset(longest, 'n', sizeof longest - 1);
	longest[sizeof longest - 1] = '\0';
	assert_int_equal(sonde_journal_name(&journal, longest), -EINVAL);
	assert_int_equal(sonde_journal_names(&names, &journal), 0);
	assert_int_equal(names.count, 0);
	assert_int_equal(sonde_journal_name(&journal, "größer als 2"), 0);
	assert_int_equal(sonde_journal_append(&journal, "{}"), 0);
	assert_int_equal(sonde_journal_names(&names, &journal), 0);
	assert_int_equal(names.count, 1);
	assert_string_equal(names.name[0], "größer als 2");
	sonde_journal_names_free(&names);
}

/* Commands in a journal are run. */
static void others_journals_are_refused(void **state)
{
	struct sonde_journal other;
	(void)state;
	assert_int_equal(chmod(folder, 0777), 0);
	assert_int_equal(sonde_journal_init(&other, folder), -EPERM);
	assert_int_equal(chmod(folder, 0770), 0);
	assert_int_equal(sonde_journal_init(&other, folder), -EPERM);
	assert_non_null(strstr(sonde_error_text(), "others can write there"));
	assert_int_equal(chmod(folder, 0700), 0);
	assert_int_equal(sonde_journal_init(&other, folder), 0);
	assert_int_equal(sonde_journal_append(&journal, "{}"), 0);
	assert_int_equal(chmod(journal.path, 0666), 0);
	assert_int_equal(sonde_journal_name(&other, "parser"), -EPERM);
	assert_int_equal(chmod(journal.path, 0620), 0);
	assert_int_equal(sonde_journal_name(&other, "parser"), -EPERM);
	assert_int_equal(chmod(journal.path, 0644), 0);
	assert_int_equal(sonde_journal_name(&other, "parser"), 0);
}

static mode_t mode_of(const char *path)
{
	struct stat info;
	assert_int_equal(stat(path, &info), 0);
	return info.st_mode & 07777;
}

static void what_is_made_is_ours_alone(void **state)
{
	struct sonde_journal made;
	char path[128];
	(void)state;
	snprintf(path, sizeof path, "%s/new", folder);
	mode_t mask = umask(0);
	assert_int_equal(sonde_journal_init(&made, path), 0);
	assert_int_equal(sonde_journal_name(&made, "parser"), 0);
	assert_int_equal(sonde_journal_check(&made), 0);
	assert_int_equal(access(made.path, F_OK), -1); /* nothing is an experiment of nothing */
	assert_int_equal(sonde_journal_append(&made, "{}"), 0);
	umask(mask);
	assert_int_equal(mode_of(made.folder), 0700);
	assert_int_equal(mode_of(made.path), 0600);
	assert_int_equal(sonde_journal_check(&made), 0);
	assert_int_equal(sonde_journal_init(&made, path), 0);
	assert_int_equal(sonde_journal_name(&made, "parser"), 0);
	unlink(made.path);
	assert_int_equal(mkdir(made.path, 0700), 0); /* that cannot be written */
	assert_int_equal(sonde_journal_check(&made), -EISDIR);
	rmdir(made.path);
	snprintf(path, sizeof path, "%s/new/.gitignore", folder);
	unlink(path);
	rmdir(made.folder);
	snprintf(path, sizeof path, "%s/none/new", folder);
	assert_int_equal(sonde_journal_init(&made, path), 0);
	assert_int_equal(sonde_journal_check(&made), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(what_is_appended_is_read, begin, end),
	    cmocka_unit_test_setup_teardown(several_at_once_lose_none, begin, end),
	    cmocka_unit_test_setup_teardown(half_a_line_spoils_no_other, begin, end),
	    cmocka_unit_test_setup_teardown(a_changed_byte_is_seen, begin, end),
	    cmocka_unit_test_setup_teardown(without_room_nothing_is_lost, begin, end),
	    cmocka_unit_test_setup_teardown(names_are_names_of_files, begin, end),
	    cmocka_unit_test_setup_teardown(others_journals_are_refused, begin, end),
	    cmocka_unit_test_setup_teardown(what_is_made_is_ours_alone, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
