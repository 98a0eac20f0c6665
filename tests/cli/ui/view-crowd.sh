# view-crowd.sh: other users of the machine cannot block `sonde view`: with hundreds of half-open connections, and
# while more arrive, each proper request is answered promptly; many expensive requests together take bounded memory.
# measures: response times
# timeout: 180
. "$(dirname "$0")/../lib.sh"
need python3 curl
unset DISPLAY WAYLAND_DISPLAY SSH_CONNECTION
bomb=$(target bomb)
pid=
at_exit() { [ -z "$pid" ] || kill -9 $pid 2>/dev/null; }
"$bomb" app.sonde 3 1 2000000
"$SONDE" view -q --no-open --port 0 app.sonde >.url 2>.view &
pid=$!
wait_for grep -q token= .url
url=$(head -n 1 .url) token=$(sed 's/.*token=//' .url)
base=${url%%/\?*} port=${url%%/\?*} port=${port##*:}

# Connections that send nothing, half a header, or a byte now and then, without the token.
cat >crowd.py <<'P'
import http.client, socket, sys, threading, time
port, token = int(sys.argv[1]), sys.argv[2]
stop, opened = threading.Event(), [0]

def crowd():
    held = []
    while not stop.is_set():
        try:
            one = socket.create_connection(("127.0.0.1", port), 5)
            one.setblocking(False)
            one.send(b"GET / HTTP/1.1\r\nHost: localhost" if len(held) % 2 else b"G")
            held.append(one)
            opened[0] += 1
        except OSError:
            time.sleep(0.01)
        if len(held) > 150:
            held.pop(0).close()
        time.sleep(0.002)

crowds = [threading.Thread(target=crowd) for _ in range(4)]
for one in crowds:
    one.start()
while opened[0] < 600:
    time.sleep(0.01)
slowest = failed = 0
for i in range(40):
    begun = time.monotonic()
    try:
        asked = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        asked.request("GET", f"/api/recording?token={token}")
        answer = asked.getresponse()
        answer.read()
        failed += answer.status != 200
        asked.close()
    except OSError:
        failed += 1
    slowest = max(slowest, time.monotonic() - begun)
stop.set()
for one in crowds:
    one.join()
print(failed, slowest, opened[0])
P
read -r failed slowest opened < <(python3 crowd.py "$port" "$token")
echo "$opened half-open connections; slowest honest answer $slowest s"
equal "$failed" 0
holds "$slowest < 8" "seconds until an honest request was answered: half-open ones are cut off after 2"
holds "$opened >= 600"

# Many different expensive requests at once: answered, or asked to retry; peak memory is bounded.
seq 60 | xargs -P 30 -I N curl -s -D head.N -o /dev/null -w '%{http_code}\n' \
	"$base/api/report?section=functions,calltree,threads,findings,timeline&limit=N&from=N&token=$token" >codes
equal "$(wc -l <codes)" 60
equal "$(grep -cvx '200\|503' codes)" 0
holds "$(grep -cx 200 codes || true) > 0" "heavy questions that were answered"
if grep -qx 503 codes; then
	grep -l '^HTTP/1.1 503' head.* | while read -r head; do
		grep -qi '^Retry-After: ' "$head" || fail "a 503 without Retry-After"
	done
fi
peak=$(awk '/VmHWM/ { print int($2 / 1024) }' /proc/$pid/status)
echo "peak RSS $peak MB"
holds "$peak <= 600"
kill $pid
wait $pid || fail "it does not end"
pid=
