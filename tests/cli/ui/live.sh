# live.sh: sonde live serves a recording while it is made: pages are notified when it has grown, figures rise with it
# and finally equal `sonde report`; the command's streams, exit code and signals are unaffected; errors are reported,
# and nothing is lost.
# measures: what threads do in an interval
# timeout: 180
. "$(dirname "$0")/../lib.sh"
need curl jq python3 mkfifo
unset DISPLAY WAYLAND_DISPLAY SSH_CONNECTION
told=$(target told) known=$(target zones_known)
pid= reader= later=() file=app.sonde
at_exit() { for one in $pid $reader "${later[@]%:*}"; do kill -9 $one 2>/dev/null || true; done; }

open=--no-token # except where tokens are tested
# live OPTION… -- COMMAND…: starts it, with `told` reading from descriptor 7; sets $url and $pid.
live() {
	rm -f .in .live .said
	mkfifo .in
	exec 7<>.in
	env --default-signal=INT,TERM,HUP "$SONDE" live $open --no-open --port 0 -f -o $file "$@" <.in >.said 2>.live &
	pid=$!
	wait_for grep -q '^http' .live
	url=$(grep -m 1 '^http' .live)
	url=${url%%/\?*} url=${url%/}
	port=${url##*:}
}

# tell LINE: sends a line to the command, and waits until it has been handled.
tell() {
	local before
	before=$(grep -c done .said || true)
	echo "$1" >&7
	wait_for said_more "$before"
}
said_more() {
	[ "$(grep -c done .said)" -gt "$1" ]
}

# ends CODE: waits until it ends by itself, with this exit code.
ends() {
	local code=0
	wait $pid || code=$?
	pid=
	equal "$code" "$1"
}

# ends_later CODE: like `ends`, but checked at the end of the test: if no page is open, sonde live waits ten seconds
# before it ends. Its messages are then in ended.CODE, and the next run has another file.
ends_later() {
	mv .live ended.$1
	later+=($pid:$1)
	pid= file=app${#later[@]}.sonde
}

# stop SIGNAL CODE: sends a signal, and waits for this exit code.
stop() {
	kill "-$1" $pid
	ends "$2"
}

get() {
	local target=$1
	shift
	curl -s -g -o .out -w '%{http_code}' "$@" "$url$target"
}

# watch: writes what pages are notified of to .events, as if a page were open.
watch() {
	curl -sN "$url/api/events" >.events &
	reader=$!
	wait_for grep -q '^data:' .events
}
unwatch() {
	kill $reader 2>/dev/null || true
	wait $reader 2>/dev/null || true
	reader=
}

# states: the notifications as JSON, one per line.
states() {
	sed -n 's/^data: //p' .events
}

# count ZONE: number of calls so far.
count() {
	curl -s "$url/api/report?section=zones" | jq --arg zone "$1" '[.sections[0].rows[]? | select(.zone == $zone).calls] | total'
}
counted() {
	[ "$(count "$1")" = "$2" ]
}
over() {
	states | tail -n 1 | jq -e '.ended != null' >/dev/null
}

# Figures rise during the run, and pages are notified.
live -q -- "$told"
equal "$(cat .live)" "$url/"
watch
tell 'alpha 3'
wait_for counted alpha 3
tell 'beta 2'
tell 'alpha 4'
wait_for counted alpha 7
wait_for counted beta 2
equal "$(get /api/recording)" 200
holds_in .out '.file == "app.sonde" and .duration_ns > 0'
echo 'exit 7' >&7
wait_for over
states >told
jq -s . told >told.json
holds_in told.json '(map(.revision | figure) | . == sort and length == (unique | length)) and (map(.duration_ns | figure) | . == sort) and
	(map(.events | figure) | . == sort and .[-1] > .[0]) and (.[:-1] | all(.ended == null)) and
	.[-1].ended == "The command ended with exit code 7."' 

# At the end the served figures equal those of the file, byte for byte.
kill -0 $pid || fail "it ended while a page was open"
for sections in summary functions,zones,threads,calltree findings; do
	equal "$(get "/api/report?section=$sections")" 200
	cp .out answer
	run 0 "$SONDE" report -q --json --section "$sections" app.sonde
	cmp answer .out || fail "not the same: $sections"
done
equal "$(rows app.sonde zones | jq -c 'map({zone, calls}) | sort_by(.zone)')" '[{"zone":"alpha","calls":7},{"zone":"beta","calls":2}]'
stop TERM 7
equal "$(cat .said | sort -u)" "done"
wait $reader || true
reader=

# Without an open page and a terminal nobody could end it, so it ends by itself; with --once at once, even if a page
# is open.
live -- "$told"
echo 'exit 3' >&7
wait_for grep -q 'the page stays up' .live
ends_later 3
matches "$(cat ended.3)" 'in app.sonde  \(sonde report app.sonde\)'
matches "$(cat ended.3)" 'the page stays up while a browser shows it'
live --once -q -- "$told"
watch
echo 'exit 4' >&7
ends 4
unwatch

# On a terminal the page stays up until Ctrl-C; while the command runs, Ctrl-C goes to the command.
python3 - "$SONDE" <<'P' || fail "at a terminal"
import json, os, pty, re, sys, time, urllib.request
def read_until(fd, words):
    text, end = b"", time.monotonic() + 20
    while words not in text:
        assert time.monotonic() < end, text
        text += os.read(fd, 4096)
    return text
def live(*command):
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(sys.argv[1], [sys.argv[1], "live", "--no-token", "--no-open", "--port", "0", "-f", "-o", "tty.sonde", "--", *command])
    return pid, fd
def code(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
pid, fd = live("sh", "-c", "exit 5")
address = re.search(rb"http://[0-9.:]+/", read_until(fd, b"the page stays up until Ctrl-C")).group().decode()
with urllib.request.urlopen(address + "api/events", timeout=20) as events: # it notifies of the end, and stays open
    while not (line := events.readline()).startswith(b"data:") or not json.loads(line[5:])["ended"]:
        assert line, "it does not stay"
with urllib.request.urlopen(address + "api/report?section=summary", timeout=20) as answer:
    assert json.load(answer)["sections"], "it does not stay"
assert os.waitpid(pid, os.WNOHANG) == (0, 0), "it does not stay"
os.write(fd, b"\x03")
assert code(pid) == 5
pid, fd = live("sh", "-c", "trap 'exit 6' INT; echo ready; while :; do sleep 0.05; done")
read_until(fd, b"ready")
os.write(fd, b"\x03")
read_until(fd, b"the page stays up until Ctrl-C")
os.write(fd, b"\x03")
assert code(pid) == 6
P

# A full disk: the run goes on, and what was written is readable.
full=0
(ulimit -f 24 && exec "$SONDE" live --once --no-open --port 0 -f -o app.sonde -- "$known" 600 >.out 2>.live) || full=$?
equal "$full" 0
matches "$(cat .live)" 'sonde live: .*what was written before can be read'
"$SONDE" report -q --json app.sonde >.out || fail "what was written cannot be read"

# Signals go to the command: one sent only to sonde reaches it, and if it ends the command, sonde ends the same way.
live -q -- sh -c 'trap "echo usr1" USR1; trap "exit 9" TERM; echo ready; while :; do sleep 0.05; done'
wait_for grep -q ready .said
kill -USR1 $pid
wait_for grep -q usr1 .said
stop TERM 9
live -q --once -- sh -c 'kill -TERM $$'
ends 143
live -q -- "$told"
stop HUP 129

# With a browser: its command line contains the name of a private file. Sonde still notices the end of the recording,
# and removes the file, however it ends.
mkdir bin
printf '#!/bin/sh\nstat -c %%a "$1" >mode; cat "$1" >led; printf "%%s" "$1" >opened\n' >bin/xdg-open
chmod +x bin/xdg-open
for end in 'exit 5' 'kill -TERM $$'; do
	rm -f opened
	code=0
	PATH=$work/bin:$PATH DISPLAY=:99 timeout 60 "$SONDE" live -q --once --port 0 -f -o app.sonde -- \
		sh -c "until [ -s opened ]; do sleep 0.05; done; $end" >.said 2>.live || code=$?
	opener=$(cat opened)
	equal "$end $code" "$([[ $end = exit* ]] && echo "$end 5" || echo "$end 143")"
	equal "$(cat mode)" 600
	has "$(cat led)" "0;url=$(head -n 1 .live)"
	lacks "$opener" "$(sed -n '1s/.*token=//p' .live)"
	[ ! -e "$opener" ] || fail "$opener is left after $end"
done

# A stopped target: the page answers in the meantime, and figures rise again when it continues.
live --once -q -- "$told"
watch
tell 'alpha 2'
wait_for counted alpha 2
victim=$(pgrep -P "$(pgrep -P $pid)")
stopped() {
	[[ $(ps -o stat= -p "$victim") == T* ]]
}
kill -STOP "$victim"
wait_for stopped
equal "$(count alpha)" 2
equal "$(get '/api/report?section=threads,functions')" 200
kill -CONT "$victim"
tell 'alpha 3'
wait_for counted alpha 5
echo 'exit 0' >&7
ends 0
unwatch

# Two hundred children at once: all of them appear while they run.
live --once -q -- sh -c 'exec 3<&0; for i in $(seq 200); do sh -c "read line" <&3 & done; wait; exit 5'
watch
processes() {
	[ "$(curl -s "$url/api/recording" | jq '.processes | length')" -ge 201 ]
}
wait_for processes
equal "$(get /api/lanes)" 200
for i in $(seq 200); do echo go; done >&7
ends 5
unwatch

# A target that is killed while it is watched: the page is notified, and everything recorded is kept.
live -- "$told"
watch
tell 'alpha 5'
wait_for counted alpha 5
victim=$(pgrep -P "$(pgrep -P $pid)")
kill -9 "$victim"
wait_for over
equal "$(states | tail -n 1 | jq -r .ended)" "The command was killed by signal 9 (Killed)."
equal "$(count alpha)" 5
unwatch
equal "$(rows $file zones | jq ".[0].calls")" 5
ends_later 137

# A recorder that is killed: the same, and what it wrote is readable.
live -- "$told"
watch
tell 'alpha 5'
wait_for counted alpha 5
recorder=$(pgrep -P $pid) victim=$(pgrep -P "$(pgrep -P $pid)")
kill -9 "$recorder"
wait_for over
matches "$(states | tail -n 1 | jq -r .ended)" '^The recorder was killed by signal 9 \(Killed\); what it had written is shown\.$'
equal "$(count alpha)" 5
kill -9 "$victim" 2>/dev/null || true
unwatch
equal "$(rows $file zones | jq ".[0].calls")" 5
ends_later 125

# sonde live itself is killed: the recorder goes on to the end.
live -- "$told"
recorder=$(pgrep -P $pid)
tell 'alpha 2'
kill -9 $pid
wait $pid 2>/dev/null || true
pid=
tell 'alpha 2'
echo 'exit 0' >&7
while kill -0 "$recorder" 2>/dev/null; do sleep 0.05; done
matches "$(cat .live)" "no page is open any more; $file is complete"
equal "$(rows $file zones | jq ".[0].calls")" 4

# Pages that come and go: a page that disconnects is forgotten; if there are too many, further ones are asked to wait.
live -q -- "$told"
for i in 1 2 3 4 5 6 7 8; do
	curl -sN --max-time 60 "$url/api/events" >".page$i" &
	pages[i]=$!
	wait_for grep -q '^data:' ".page$i"
done
equal "$(get /api/events --max-time 5)" 503
has "$(jq -r .error .out)" "8 pages"
kill "${pages[@]}"
wait "${pages[@]}" 2>/dev/null || true
free() {
	[ "$(get /api/events --max-time 1)" = 200 ]
}
wait_for free
python3 - "$port" <<'P' # a client that never reads
import socket, sys
one = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5)
one.sendall(f"GET /api/events HTTP/1.1\r\nHost: localhost:{sys.argv[1]}\r\n\r\n".encode())
P
refused() {
	equal "$(get "$@")" 403
}
refused /api/events -H 'Sec-Fetch-Site: cross-site'
refused /api/events -H 'Host: evil.example'
tell 'alpha 1'
wait_for counted alpha 1

# Ports: without --port a free one is chosen; if a given port is taken, nothing is run.
taken=$port
run 125 "$SONDE" live --no-open --port "$taken" -o other.sonde -- touch was-run
has "$err" "port $taken of 127.0.0.1 is taken"
[ ! -e was-run ] && [ ! -e other.sonde ] || fail "it was run"
run 125 "$SONDE" live --host 0.0.0.0 --no-token -o other.sonde -- touch was-run
has "$err" "--no-token works only on this machine"
[ ! -e was-run ] || fail "it was run"
echo 'exit 0' >&7
ends_later 0

# A command that cannot be executed, and wrong usage: the same messages as sonde record.
run 127 "$SONDE" live --no-open --port 0 -o none.sonde -- ./nothing
equal "$out" ""
run 126 "$SONDE" live --no-open --port 0 -o none.sonde -- /etc/passwd
[ ! -e none.sonde ] || fail "a recording of nothing"
run 125 "$SONDE" live --no-open --port 0 -o app.sonde -- true
has "$err" "--force overwrites it"
run 125 "$SONDE" live
run 125 "$SONDE" live -p 1 -- true
run 125 "$SONDE" live -p 999999999
run 125 "$SONDE" live --heap -p $$

# A running process: the recording ends, the process goes on.
sleep 60 &
sleeper=$!
rm -f .live
env --default-signal=INT "$SONDE" live -q --no-token --no-open --port 0 -o attached.sonde -p $sleeper >.said 2>.live &
pid=$!
wait_for grep -q '^http' .live
url=$(grep -m 1 '^http' .live) url=${url%/}
equal "$(get /api/recording)" 200
stop TERM 0
kill -0 $sleeper || fail "what was attached to has ended"
kill $sleeper
rows attached.sonde summary >/dev/null

# An attached process is killed: the page is notified that it has ended.
sleep 60 &
sleeper=$!
rm -f .live
env --default-signal=INT "$SONDE" live -q --no-token --no-open --port 0 -o killed.sonde -p $sleeper >.said 2>.live &
pid=$!
wait_for grep -q '^http' .live
url=$(grep -m 1 '^http' .live) url=${url%/}
watch
kill -9 $sleeper
wait_for over
equal "$(states | tail -n 1 | jq -r .ended)" "Process $sleeper has exited (only its parent gets the exit code)."
unwatch
stop TERM 0

# A given token is required and never shown.
token=Secret-0123456789
open=
live -q --token $token -- "$told"
equal "$(get /api/events)" 401
equal "$(get "/api/events?token=$token" --max-time 1)" 200
tr '\0' ' ' </proc/$pid/cmdline >shown
lacks "$(cat shown)" $token
echo 'exit 0' >&7
ends_later 0

# Without an option there is a random token, in the link.
live -q -- "$told"
token=$(grep -m 1 -o 'token=[0-9a-f]*$' .live)
equal "${#token}" 38
equal "$(get /api/events)" 401
equal "$(get "/api/events?$token" --max-time 1)" 200

# Hundreds of clients that listen, and hundreds that ask and never read: some are asked to come again, and a page
# still gets its answer.
python3 - "$port" "$token" <<'P'
import socket, sys, urllib.request
port, token, held, states = int(sys.argv[1]), sys.argv[2], [], []
def ask(path):
    one = socket.create_connection(("127.0.0.1", port), 20)
    one.sendall(f"GET {path}?{token} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode())
    held.append(one)
    return one
for _ in range(200):
    states.append(ask("/api/events").recv(12).split()[1])
assert states.count(b"200") == 8 and states.count(b"503") == 192, states
for _ in range(250):
    ask("/app.js")
with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/recording?{token}", timeout=60) as answer:
    assert answer.status == 200
P
echo 'exit 0' >&7
ends 0

# The runs without a page have ended by themselves.
for one in "${later[@]}"; do
	pid=${one%:*}
	ends "${one#*:}"
done
matches "$(cat ended.125)" 'recorder was killed'
