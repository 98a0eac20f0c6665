# view.sh: the server of the web page: its figures equal the report's, requests from elsewhere are rejected, invalid
# requests get a message, and it ends when signalled.
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need curl jq python3
unset DISPLAY WAYLAND_DISPLAY SSH_CONNECTION
pid=
at_exit() { [ -z "$pid" ] || kill -9 $pid 2>/dev/null; }

open=--no-token # except where tokens are tested
# serve OPTION…: starts it; sets $url (without its path), $port and $pid.
serve() {
	: >.url
	env --default-signal=INT "$SONDE" view $open "$@" >.url 2>.view &
	pid=$!
	wait_for grep -q / .url
	url=$(head -n 1 .url)
	url=${url%%/\?*} url=${url%/}
	port=${url##*:}
}

# stop SIGNAL: sends it and expects exit code 0.
stop() {
	local code=0
	kill "-$1" $pid
	wait $pid || code=$?
	pid=
	equal "$code" 0
}

# get TARGET [CURL OPTION…]: prints the status; the answer is in .out, its headers in .head.
get() {
	local target=$1
	shift
	: >.out # without a body curl does not touch the file
	curl -s --path-as-is -g -o .out -D .head -w '%{http_code}' "$@" "$url$target"
}

# raw WORDS: the answer to these bytes (printf's) as text; "" if the connection is closed.
raw() {
	printf "$1" | python3 -c '
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 3)
try:
    s.sendall(sys.stdin.buffer.read())
    text = b""
    while part := s.recv(65536):
        text += part
except OSError:
    pass
sys.stdout.write(text.decode("latin-1"))' "$port"
}

# refused STATUS TARGET [CURL OPTION…]: expects this status and a message.
refused() {
	local status=$1
	shift
	equal "$(get "$@")" "$status"
	holds "$(jq -r '.error | length' .out) > 10" "$(cat .out)"
}

# A program whose thread names contain markup, right-to-left text and control characters.
cat >names.py <<'P'
import ctypes, threading, time
libc = ctypes.CDLL(None)
def work(name):
    libc.prctl(15, name, 0, 0, 0)
    end = time.monotonic() + 0.2
    while time.monotonic() < end:
        sum(range(1000))
threads = [threading.Thread(target=work, args=(name,)) for name in (b"<script>", "a\u202eb".encode(), b"\x1b[31m\x01\xff")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
P
run 0 "$SONDE" record -q -o app.sonde -- python3 names.py

# The main purpose: the same figures as a report, byte for byte.
cp app.sonde same.sonde
serve -q --no-open app.sonde
equal "$(wc -l <.url)" 1
equal "$(cat .view)" ""
equal "$(get /api/recording)" 200
holds_in .out '.version == 1 and .file == "app.sonde" and (.command | test("names.py")) and .duration_ns > 0 and
	(.processes[0] | .id == 1 and .pid > 0) and (.sections | index("summary") and index("findings"))'
cp .out recording
equal "$(jq '.threads | length' recording)" "$(rows app.sonde threads | jq length)"
holds_in recording '[.threads[].name] | index("<script>") and index("a\u202eb")'
for bad in '<script' $'\u202e' $'\033' $'\001'; do
	grep -qF -- "$bad" recording && fail "'$bad' stands in the answer as it is"
done

# same QUERY OPTION…: the query's answer equals the report with these options.
same() {
	local query=$1
	shift
	equal "$(get "/api/report?$query")" 200
	cp .out answer
	run 0 "$SONDE" report -q --json "$@" app.sonde
	cmp answer .out || fail "not the same: $query"
}
thread=$(jq '.threads[] | select(.name == "<script>").id' recording)
tid=$(jq '.threads[] | select(.name == "<script>").tid' recording)
same section=summary --section summary
same section=functions,threads,calltree --section functions,threads,calltree
same 'section=functions,modules&limit=3' --section functions,modules --limit 3
same 'section=functions,threads&from=50000000&to=300000000' --section functions,threads --from 50ms --to 300ms
same "section=functions,calltree&thread=$thread" --section functions,calltree --thread "$tid"
same 'section=callers&focus=a%20%3Cb%3E%26%22%E2%80%AE' --section callers --focus $'a <b>&"\u202e'
same 'section=heap,waits' --section heap,waits
for section in $(jq -r '.sections[]' recording); do
	equal "$(get "/api/report?section=$section")" 200
done

# The page is compressed on request, and not sent again if it is unchanged.
equal "$(get /)" 200
cp .out page
matches "$(cat .head)" '^Content-Type: text/html'
tag=$(tr -d '\r' <.head | sed -n 's/^ETag: //p')
equal "$(get / -H "If-None-Match: $tag")" 304
equal "$(stat -c %s .out)" 0
equal "$(get / -H 'Accept-Encoding: gzip')" 200
matches "$(cat .head)" '^Content-Encoding: gzip'
gzip -dc <.out | cmp - page || fail "not the page that was compressed"
equal "$(get / -H 'Accept-Encoding: gzip' -H "If-None-Match: $tag")" 200
for part in / /app.js /app.css /api/recording /api/nothing '/api/report?section=functions'; do
	get "$part" >/dev/null
	for header in "Content-Security-Policy: default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'" \
		'X-Content-Type-Options: nosniff' 'Referrer-Policy: no-referrer'; do
		grep -qF "$header" .head || fail "$part lacks $header"
	done
	grep -qi '^Access-Control' .head && fail "$part is for other pages"
	[[ $part != /api/* ]] || grep -q 'Cache-Control: no-store' .head || fail "$part may be kept"
done

# Rejected: host names that are not ours, and methods that would change something.
for host in evil.example "evil.example:$port" 127.0.0.1 "127.0.0.1:1" "localhost:$port.evil.example"; do
	refused 403 /api/recording -H "Host: $host"
done
refused 403 / -H "Host;"
for host in "localhost:$port" "[::1]:$port" "LOCALHOST:$port"; do
	equal "$(get /api/recording -H "Host: $host")" 200
done
matches "$(raw 'GET /api/recording HTTP/1.0\r\n\r\n')" '^HTTP/1\.[01] 403'
matches "$(raw "GET / HTTP/1.1\r\nHost: localhost:$port\r\nHost: evil.example\r\nConnection: close\r\n\r\n")" '^HTTP/1.1 40[03]'
for method in POST PUT DELETE OPTIONS PATCH TRACE NONSENSE; do
	refused 405 /api/recording -X "$method"
	grep -q '^Allow: GET' .head || fail "$method is refused without a word of what is allowed"
done
equal "$(curl -s -I -o .head -w '%{http_code}' "$url/")" 405
refused 405 /api/recording -d hello
refused 413 /api/recording -X GET -d hello
refused 413 /api/recording -X GET -H 'Transfer-Encoding: chunked' -d hello

# Requests from other web pages: browsers say where they come from.
for site in cross-site same-site nonsense; do
	refused 403 /api/recording -H "Sec-Fetch-Site: $site"
	refused 403 '/api/report?section=functions' -H "Sec-Fetch-Site: $site"
	equal "$(get / -H "Sec-Fetch-Site: $site")" 200 # a link may lead here
done
for site in same-origin none; do
	equal "$(get /api/recording -H "Sec-Fetch-Site: $site")" 200
done
for origin in http://evil.example null "https://localhost:$port" "http://localhost:$((port + 1))"; do
	refused 403 /api/recording -H "Origin: $origin"
done
equal "$(get /api/recording -H "Origin: $url")" 200
equal "$(get /api/events)" 204 # there will be no events

# Headers that are too long, and none at all.
long=$(printf '%9000s' '' | tr ' ' a)
refused 431 / -H "X: $long"
matches "$(get "/?a=$long")" '^4(14|31)$'
matches "$(raw "GET / HTTP/1.1\r\nHost: localhost:$port\r\nX: $long$long$long$long$long\r\n\r\n" | head -n 1)" '^(HTTP/1.1 431.*)?$'
matches "$(raw 'nonsense\r\n\r\n' | head -n 1)" '^(HTTP/1.[01] 4.*)?$'
raw '\000\001\002\r\n\r\n' >/dev/null

# Invalid requests.
refused 404 /nothing
refused 404 /api/report/
refused 404 //api/report
refused 404 /../../etc/passwd
refused 404 '/%61pp.js'
for query in '' section= section=sumary section=functions,functions 'section=functions&section=threads' 'section=functions&from=1s' \
	'section=functions&from=-1' 'section=functions&from=9999999999999' 'section=functions&from=20&to=10' \
	'section=functions&thread=0' 'section=functions&thread=99999' 'section=functions&limit=0' 'section=functions&limit=1e9' \
	'section=calltree&weigh=gold' 'section=functions&output=x' 'section=functions%00' 'section=%zz' 'section=%' '=x' \
	'section=<script>alert(1)</script>' 'section=functions&focus=%00'; do
	refused 400 "/api/report?$query"
	grep -q '<script' .out && fail "markup comes back"
done
refused 400 '/api/recording?section=functions'
equal "$(get '/api/report?section=sumary')" 400
has "$(cat .out)" "unknown section 'sumary'"

# Many at once: each is answered or asked to wait.
seq 60 | xargs -P 24 -I N curl -s -o /dev/null -w '%{http_code}\n' "$url/api/report?section=functions,findings&limit=N" >codes
equal "$(wc -l <codes)" 60
equal "$(grep -cvx '200\|503' codes)" 0
python3 - "$port" <<'P'
import socket, sys
idle = [socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5) for _ in range(40)]
for one in idle[:10]:
    one.sendall(b"GET / HTTP/1.1\r\nHost: loc")
P
equal "$(get /)" 200

# A port that is taken, by the server that is still running.
run 2 "$SONDE" view --no-open --port "$port" app.sonde
has "$err" "port $port of 127.0.0.1 is taken"
run 2 "$SONDE" view --port 70000 app.sonde
run 2 "$SONDE" view --port x app.sonde
stop TERM
curl -s "$url/" >/dev/null && fail "it still answers"
serve -q --no-open same.sonde
first=$pid taken=$port
serve -q --no-open same.sonde
second=$pid
[ "$port" -gt "$taken" ] && [ "$port" -le $((taken + 100)) ] || fail "port $port beside $taken"
kill "$first"
wait "$first" || fail "the first does not end"
pid=$second
equal "$(get /api/recording)" 200

# A recording that is truncated while it is served: an error instead of figures from the remainder (more in
# view-changed.sh), and the server goes on.
truncate -s $(($(stat -c %s same.sonde) / 3)) same.sonde
refused 500 '/api/report?section=functions,calltree'
: >same.sonde
refused 500 '/api/report?section=functions,threads'
refused 500 /api/recording
has "$(jq -r .error .out)" "same.sonde: it was cut from"
equal "$(get /)" 200
stop INT
rm same.sonde

# Stopped while many wait: each is answered, told that the server is ending, or disconnected; and it ends.
serve -q --no-open --port 0 app.sonde
for limit in $(seq 24); do
	curl -s -o /dev/null -w '%{http_code}\n' "$url/api/report?section=functions,findings,calltree&limit=$limit" >>ended &
done
wait_for test -s ended
stop TERM
wait
equal "$(grep -cvx '000\|200\|503' ended)" 0

# With --host: never without a token, which is required for everything and shown nowhere.
open=
run 2 "$SONDE" view --no-open --port 0 --host 0.0.0.0 --no-token app.sonde
has "$err" "--no-token works only on this machine"
equal "$out" ""
run 2 "$SONDE" view --no-open --host 0.0.0.0 --token short app.sonde
has "$err" "16 to 128 characters"
run 2 "$SONDE" view --no-open --host nowhere.invalid --token 0123456789abcdef app.sonde
has "$err" "no address 'nowhere.invalid'"
token=Secret-0123456789
serve -q --no-open --port 0 --host 0.0.0.0 --token $token app.sonde
equal "$(cat .url)" "http://127.0.0.1:$port/?token=$token" # an address that can be opened
tr '\0' ' ' </proc/$pid/cmdline >shown
lacks "$(cat shown)" $token
refused 401 /
refused 401 /api/recording
refused 401 /app.js
refused 401 '/api/recording?token=Secret-0123456780'
refused 401 /api/recording -H "Cookie: sonde-$port=wrong"
refused 403 "/?token=$token" -H 'Host: evil.example'
equal "$(get "/api/recording?token=$token")" 200
equal "$(get "/?token=$token" -c jar)" 200
matches "$(cat .head)" "^Set-Cookie: sonde-$port=$token; Path=/; HttpOnly; SameSite=Strict"
equal "$(get / -b jar)" 200
equal "$(get '/api/report?section=functions' -b jar)" 200
stop TERM

# Without options: a random token for this run, in the link; the browser gets a file that only its user can read.
tokens=
for _ in 1 2; do
	serve -q --no-open --port 0 app.sonde
	matches "$(cat .url)" "^http://127\.0\.0\.1:$port/\?token=[0-9a-f]{32}$"
	token=$(sed 's/.*token=//' .url)
	lacks "$tokens" "$token"
	tokens="$tokens $token"
	refused 401 /
	refused 401 /api/recording
	has "$(jq -r .error .out)" "open the address that sonde view printed"
	refused 401 "/api/recording?token=${token%?}"
	refused 401 "/api/recording?token=${token}0"
	equal "$(get "/api/recording?token=$token")" 200
	equal "$(get "/?token=$token" -c jar)" 200
	equal "$(get /api/recording -b jar)" 200
	tr '\0' ' ' </proc/$pid/cmdline >shown
	lacks "$(cat shown)" "$token"
	stop TERM
done
open=--no-token

# However an address is typed, it is printed as browsers write it.
if python3 -c 'import socket; socket.create_server(("::1", 0), family=socket.AF_INET6)' 2>/dev/null; then
	serve -q --no-open --port 0 --host 0:0:0:0:0:0:0:1 app.sonde
	equal "$(cat .url)" "http://[::1]:$port/"
	equal "$(get /api/recording)" 200
	equal "$(get /api/recording -H "Host: [0:0:0:0:0:0:0:1]:$port")" 200
	refused 403 /api/recording -H "Host: [::2]:$port"
	stop TERM
fi

# Browsers are opened only where somebody can see them.
mkdir bin
printf '#!/bin/sh\nprintf "%%s" "$1" >opened\n' >bin/xdg-open
chmod +x bin/xdg-open
PATH=$work/bin:$PATH
DISPLAY=:99 serve -q --port 0 app.sonde
wait_for test -s opened
equal "$(cat opened)" "$url/"
stop TERM
rm opened
open=
DISPLAY=:99 serve -q --port 0 app.sonde
wait_for test -s opened
opener=$(cat opened)
equal "$(stat -c '%a %U' "$opener")" "600 $(id -un)"
has "$(cat "$opener")" "0;url=$(head -n 1 .url)"
stop TERM
[ ! -e "$opener" ] || fail "$opener is left"
open=--no-token
rm opened
DISPLAY=:99 SSH_CONNECTION='192.0.2.1 5000 192.0.2.7 2222' serve --port 0 app.sonde
matches "$(cat .url)" "^ssh -L $port:127.0.0.1:$port -p 2222 .*192\.0\.2\.7"
stop TERM
DISPLAY=:99 serve --no-open --port 0 app.sonde
stop TERM
serve --port 0 app.sonde
stop TERM
[ -e opened ] && fail "a browser was opened for nobody"

# Files: the newest if none is given; a file that report rejects gets the same message.
run 2 "$SONDE" view a.sonde b.sonde c.sonde
has "$err" "leave 'c.sonde' out"
mkdir none
(cd none && run 2 "$SONDE" view && has "$err" "no recording (*.sonde) here")
serve -q --no-open --port 0
equal "$(get /api/recording)" 200
stop TERM
echo hello >text.sonde
: >empty.sonde
cp app.sonde newer.sonde
printf '\377' | dd of=newer.sonde bs=1 seek=8 conv=notrunc status=none
for file in text empty newer missing; do
	run 4 "$SONDE" report $file.sonde
	expected=${err/sonde report/sonde view}
	run 4 "$SONDE" view --no-open $file.sonde
	equal "$err" "$expected"
	equal "$out" ""
done
