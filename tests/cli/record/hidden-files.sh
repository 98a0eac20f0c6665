# hidden-files.sh: if a program cannot read sonde's files (another root directory, mount namespace or user), its
# output is the same as without sonde, and the report says that it was not recorded.
# timeout: 120
. "$(dirname "$0")/../lib.sh"
[ "$(id -u)" -eq 0 ] || skip "needs root: chroot"
need chroot unshare python3

loader=$(readlink -f /lib64/ld-linux-x86-64.so.2 2>/dev/null) || skip "another machine"
mkdir -p root/bin root/lib64 root/proc
cp "$loader" root/lib64/ld-linux-x86-64.so.2
for program in sh echo; do
	cp "$(type -P $program)" root/bin
	ldd "$(type -P $program)" | grep -oE '/[^ ]+' | while read -r library; do cp --parents -L "$library" root; done
done
chmod -R go+rX .

# same NAME OPTIONS COMMAND…: output, errors and exit code are the same with and without sonde.
same() {
	local name=$1 options=$2 alone=0 recorded=0
	shift 2
	"$@" >alone.out 2>alone.err </dev/null || alone=$?
	# shellcheck disable=SC2086
	"$SONDE" record -q --force -o a.sonde $options -- "$@" >recorded.out 2>recorded.err </dev/null || recorded=$?
	equal "$name $options: $recorded" "$name $options: $alone"
	diff alone.out recorded.out || fail "$name $options writes something else"
	diff alone.err recorded.err || fail "$name $options says something else"
	[ -s alone.out ] || fail "$name writes nothing: nothing is tested"
}
reports() { # WHAT PROGRAM
	run 0 "$SONDE" report a.sonde
	grep -qE "! $1: [^!]*[0-9]+ process(es)? \(($2)\) (was|were) not recorded: sonde's files cannot be read there" <<<"$(tr -s ' \n' ' ' <<<"$out")" ||
		fail "nothing is said of $2, which was not recorded ($1)"
}
all="--no-perf --heap=full --threads --io --blas"
for options in --no-perf --heap=full --heap=light --threads --io --blas "$all"; do
	same chroot "$options" chroot root /bin/sh -c '/bin/echo inside; echo wrong >&2; exit 3'
done
reports heap sh
reports waits sh

# A program that has changed its root itself and then uses each exec function; other entries of LD_PRELOAD stay.
cat >ways.py <<'P'
import os, subprocess, sys
os.chroot("root")
os.chdir("/")
for line in (["first"], ["second"]):
    subprocess.run(["/bin/echo", *line], close_fds=False)
os.waitpid(os.posix_spawn("/bin/echo", ["echo", "spawned"], os.environ), 0)
os.waitpid(os.posix_spawnp("echo", ["echo", "found"], {"PATH": "/bin", **os.environ}), 0)
os.system("/bin/echo of a shell")
print(os.popen("/bin/echo from a pipe").read(), flush=True)
os.system("echo $LD_PRELOAD")
large = dict(os.environ, **{"V%d" % i: "x" * 100 for i in range(2000)})
child = os.fork()
if not child:
    os.execve("/bin/echo", ["echo", "large"], large)
os.waitpid(child, 0)
try:
    os.execvp("/no/such/program", ["echo", "never"])
except OSError:
    print("no such", flush=True)
os.execl("/bin/echo", "echo", "last")
P
same ways "$all" env PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 ways.py
matches "$(cat recorded.out)" '^last$'

# A program in between that forks threads and changes its root in its own way; exec functions with variable arguments,
# called from C.
if command -v cc >/dev/null; then
	cat >lists.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
int main(int count, char **arguments)
{
	if (count > 1 && (chroot(arguments[1]) || chdir("/")))
		return 9;
	for (int i = 0; i < 5; i++) {
		pid_t child = i % 2 ? vfork() : fork();
		if (!child) {
			if (i == 0)
				execl("/bin/echo", "echo", "a", "b", "c", NULL);
			if (i == 1)
				execlp("echo", "echo", NULL);
			if (i == 2)
				execle("/bin/sh", "sh", "-c", "/bin/echo $A ${LD_PRELOAD-none}", NULL, (char *[]){"A=1", NULL});
			if (i == 3)
				execv("/bin/echo", (char *[]){"echo", "v", NULL});
			if (i == 4)
				execvp("echo", (char *[]){"echo", "vp", NULL});
			_exit(1);
		}
		int status;
		if (waitpid(child, &status, 0) != child || status)
			return 1;
	}
	return system("exit 3") >> 8;
}
C
	cc -O1 lists.c -o lists
	same lists "$all" ./lists root
	same lists-here "$all" ./lists
	equal "$(grep -c . recorded.out)" 4
fi

# Another mount namespace, in which other files hide ours; and a user who may not read ours.
if unshare -m true 2>/dev/null; then
	home=$(cd "$(dirname "$SONDE")/../.." && pwd)
	same mounts "$all" unshare -m sh -c "mount -t tmpfs none '$home'; /bin/echo hidden; seq 3 | sort -r; exit 3"
	reports heap 'echo|seq|sort'
fi
if command -v bwrap >/dev/null && bwrap --ro-bind / / true 2>/dev/null; then
	bare=(bwrap --ro-bind root / --proc /proc --unshare-user --unshare-pid)
	same bwrap "$all" "${bare[@]}" /bin/sh -c '/bin/echo inside; exit 3'
	reports heap sh
fi
