# progress.sh: if looking up symbols takes longer than a second, a message is printed once, and only to a terminal.
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need script python3

# A debuginfod server that has no files and answers slowly.
cat >server.py <<'END'
import http.server, time
class Slow(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(2)
        self.send_error(404)
    def log_message(self, *_):
        open("asked", "a").write(self.path + "\n")
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow)
print(server.server_port, flush=True)
server.serve_forever()
END
python3 server.py >port &
server=$!
at_exit() { kill $server 2>/dev/null; }
wait_for test -s port
export DEBUGINFOD_URLS=http://127.0.0.1:$(cat port) DEBUGINFOD_TIMEOUT=10 sonde=$SONDE

# terminal COMMAND: runs it with a terminal as output; slow: without cached symbols. Its output is in $out.
terminal() {
	run 0 script -qec "$1" /dev/null
}
slow() {
	rm -rf asked .cache .debuginfod_client_cache
}
lines() {
	grep -c "looking up symbols" <<<"$out" || true
}

busy='i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done'
export busy
slow
terminal '$sonde record -o a.sonde --debuginfod -- sh -c "$busy"'
[ -s asked ] || skip "no debug files are asked for here"
equal "$(lines)" 1
has "$out" "--no-symbols"
slow
terminal '$sonde record -q -o b.sonde --debuginfod -- sh -c "$busy"'
[ -s asked ] || fail "nothing was slow"
equal "$out" ""
slow
run 0 "$SONDE" record -o c.sonde --debuginfod -- sh -c "$busy"
[ -s asked ] || fail "nothing was slow"
lacks "$err" "looking up"
terminal '$sonde record -o d.sonde -- sh -c "$busy"' # nothing is slow here
equal "$(lines)" 0

slow
terminal '$sonde report --debuginfod d.sonde'
[ -s asked ] || fail "nothing was slow"
equal "$(lines)" 1
slow
terminal '$sonde report -q --debuginfod d.sonde'
equal "$(lines)" 0
