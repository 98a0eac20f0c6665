# view-slow.sh: clients that send a byte now and then are disconnected and do not block others; clients that read
# slowly or listen to events are not disconnected.
# measures: response times
# timeout: 180
. "$(dirname "$0")/../lib.sh"
need python3
unset DISPLAY WAYLAND_DISPLAY SSH_CONNECTION
told=$(target told)
pid=
at_exit() { [ -z "$pid" ] || kill -9 $pid 2>/dev/null; }
mkfifo .in
exec 7<>.in
"$SONDE" live -q --once --no-token --no-open --port 0 -f -o app.sonde -- "$told" <.in >.said 2>.live &
pid=$!
wait_for grep -q '^http' .live
url=$(grep -m 1 '^http' .live) url=${url%/}

cat >slow.py <<'P'
import select, socket, sys, time
port = int(sys.argv[1])
head = f"GET /api/events HTTP/1.1\r\nHost: localhost:{port}\r\n".encode()
def connect():
    return socket.create_connection(("127.0.0.1", port), 60)
def ask(one, path):
    one.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode())
def answer(one):
    text = b""
    while b"\r\n\r\n" not in text:
        part = one.recv(65536)
        assert part, "closed"
        text += part
    return text
listener = connect()
ask(listener, "/api/events")
assert answer(listener).startswith(b"HTTP/1.1 200")
keeps = connect() # has had an answer and may send another request later
ask(keeps, "/api/nothing")
assert answer(keeps).startswith(b"HTTP/1.1 404")
slow = [connect() for _ in range(60)] # nearly as many as the server waits for
later = connect()
ask(later, "/api/nothing")
sent, end = 0, time.monotonic() + 120
while slow:
    assert time.monotonic() < end, f"{len(slow)} are there still"
    for one in list(slow):
        try:
            if select.select([one], [], [], 0)[0] and not one.recv(4096):
                raise ConnectionResetError
            one.sendall(b"X-Slow: " if sent == len(head) else head[sent:sent + 1])
        except OSError:
            slow.remove(one)
    sent = min(sent + 1, len(head))
    time.sleep(0.25)
assert answer(later).startswith(b"HTTP/1.1 404"), "who came later is not answered"
ask(keeps, "/api/nothing")
assert answer(keeps).startswith(b"HTTP/1.1 404"), "who asks again is not answered"
print("alpha 1", file=open(sys.argv[2], "w"), flush=True)
text, end = b"", time.monotonic() + 60
while b"event: grown" not in text:
    assert time.monotonic() < end, text
    part = listener.recv(65536)
    assert part, "a listener was cut off"
    text += part
P
run 0 python3 slow.py "${url##*:}" .in
echo 'exit 0' >&7
wait $pid
pid=
