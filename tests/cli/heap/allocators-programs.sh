# allocators-programs.sh: large programs with their own allocators, runtimes and many processes run as without sonde
# under each kind of recording: redis, MariaDB, Firefox, Node, Java, Go with cgo, numpy.
# tier: long
# timeout: 1500
. "$(dirname "$0")/../lib.sh"
need timeout

settings=("" "--no-perf" "--heap" "--heap=full" "--threads" "--io" "--blas" "--no-perf --heap=full --threads --io --blas")
tried=0

# same COMMAND…: output and exit code are the same under each of the settings.
same() {
	local setting bare_code=0 code
	timeout -k 1 120 "$@" >bare 2>bare.err </dev/null || bare_code=$?
	for setting in "${settings[@]}"; do
		code=0
		# shellcheck disable=SC2086
		timeout -k 1 240 "$SONDE" record -q --force -o a.sonde $setting -- "$@" >recorded 2>recorded.err </dev/null || code=$?
		[ "$code" -eq "$bare_code" ] || fail "$* with '$setting' ends with $code instead of $bare_code: $(tail -n 3 recorded.err)"
		cmp -s bare recorded || fail "$* with '$setting' writes something else: $(diff bare recorded | head -n 5)"
	done
	tried=$((tried + 1))
}

# has_all COMMAND…: true if all of them are installed.
has_all() {
	local tool
	for tool; do
		command -v "$tool" >/dev/null || { echo "not tried: $tool is not installed" >&2; return 1; }
	done
}
PATH=$PATH:/usr/sbin

cat >redis <<'END'
socket=$PWD/redis.socket
redis-server --port 0 --unixsocket "$socket" --save '' --appendonly no --dir "$PWD" >/dev/null 2>&1 &
for i in $(seq 400); do [ -S "$socket" ] && redis-cli -s "$socket" ping >/dev/null 2>&1 && break; sleep 0.05; done
redis-benchmark -s "$socket" -n 2000 -c 10 -q -t set,get >/dev/null 2>&1 || echo "the benchmark fails"
redis-cli -s "$socket" set a 5
redis-cli -s "$socket" incr a
redis-cli -s "$socket" bgsave >/dev/null
redis-cli -s "$socket" shutdown nosave
wait $!
echo "the server ends with $?"
END
has_all redis-server redis-benchmark redis-cli && same sh redis

cat >mariadb <<'END'
rm -rf data && mkdir data
printf 'create database mysql;\nuse mysql;\ncreate table t(a int) engine=aria;\ninsert into t values (1),(2);\n' |
	mariadbd --no-defaults --bootstrap --user=root --datadir="$PWD/data" --tmpdir="$PWD" --innodb-buffer-pool-size=16M \
	--skip-grant-tables 2>/dev/null
echo "$?"
ls data | sort
END
has_all mariadbd && same sh mariadb

cat >firefox <<'END'
rm -rf profile && mkdir profile
timeout 100 firefox --headless --no-remote --profile "$PWD/profile" --screenshot "$PWD/profile/a.png" 'data:text/html,<p>hello' \
	>/dev/null 2>&1
echo "$?"
[ -s profile/a.png ] && echo "there is a picture"
END
has_all firefox && same sh firefox

cat >work.js <<'END'
const { execSync } = require('child_process'), fs = require('fs');
const { Worker, isMainThread } = require('worker_threads');
if (isMainThread) {
	let ended = 0;
	for (let i = 0; i < 4; i++)
		new Worker(__filename).on('exit', () => {
			if (++ended < 4) return;
			console.log(execSync('echo child').toString(), fs.readFileSync(__filename).length);
			process.exitCode = 6;
		});
} else {
	const all = [];
	for (let i = 0; i < 1e5; i++) all.push({ i });
}
END
has_all node && same node work.js

cat >Work.java <<'END'
public class Work {
	public static void main(String[] unused) throws Exception {
		Thread[] threads = new Thread[4];
		for (int i = 0; i < 4; i++) {
			threads[i] = new Thread(() -> {
				StringBuilder text = new StringBuilder();
				for (int k = 0; k < 200000; k++) text.append(k);
			});
			threads[i].start();
		}
		for (Thread thread : threads) thread.join();
		new ProcessBuilder("echo", "child").inheritIO().start().waitFor();
		System.exit(7);
	}
}
END
has_all java javac && javac Work.java && same java -cp . Work

cat >work.go <<'END'
package main

/*
#include <pthread.h>
#include <stdlib.h>
static void *run(void *a) { for (int i = 0; i < 1000; i++) free(malloc(100 + i)); return a; }
static int work(void) { pthread_t t; return pthread_create(&t, 0, run, 0) || pthread_join(t, 0); }
*/
import "C"
import (
	"fmt"
	"os"
	"os/exec"
	"sync"
)

func main() {
	var all sync.WaitGroup
	for i := 0; i < 20; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			if C.work() != 0 {
				panic("no thread")
			}
		}()
	}
	all.Wait()
	out, _ := exec.Command("echo", "child").Output()
	fmt.Print(string(out))
	os.Exit(4)
}
END
has_all go gcc && GOCACHE=$work/go go build -o work_go work.go && same ./work_go

cat >work.py <<'END'
import threading
import numpy as np
a = np.ones((200, 200))
threads = [threading.Thread(target=lambda: a @ a) for _ in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
print(float((a @ a)[0, 0]), float(np.linalg.det(np.eye(5))))
END
if /usr/bin/python3 -c 'import numpy' 2>/dev/null; then same /usr/bin/python3 work.py; else echo "not tried: no numpy" >&2; fi
[ $tried -gt 0 ] || skip "none of these programs is installed"
echo "$tried programs tried" >&2
