# strangers.sh: other users of the machine can neither impersonate the recorder on its socket nor write files through a
# setuid program's environment.
. "$(dirname "$0")/../lib.sh"
[ "$(id -u)" -eq 0 ] || skip "needs two users: only root can be both"
need setpriv python3 cc
chmod 777 "$work"

# Linked statically: a setuid program finds no library next to itself.
cat >zones.c <<'P'
#include <sonde/sonde.h>
int main(void)
{
	for (int i = 0; i < 10; i++) {
		SONDE_ZONE("outer");
	}
	return 0;
}
P
cc -I "$repo/include" zones.c "$SONDE_BUILD/src/runtime/libsonde.a" -lpthread -o zones || fail "cannot build a program"
zones=$work/zones

# Another user listens under the socket name that a program was given: the program sends nothing, and runs on.
cat >listen.py <<'P'
import os, socket, sys
listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
listener.bind("\0sonde-test-%s" % sys.argv[1])
listener.listen(8)
open("listening", "w").close()
listener.settimeout(20)
got = b""
while os.path.exists("listening"):
    try:
        peer, _ = listener.accept()
    except TimeoutError:
        break
    peer.settimeout(5)
    got += peer.recv(65536)
open("got", "wb").write(got)
P
listen() {
	rm -f listening got
	"$@" python3 listen.py $$ &
	listener=$!
	wait_for test -e listening
}
heard() { # number of bytes that the listener received
	rm -f listening
	python3 -c "import socket; s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.connect('\0sonde-test-$$')" || true
	wait $listener
	stat -c %s got
}
listen as_user
run 0 env SONDE_SOCKET=sonde-test-$$ "$zones"
equal "$(heard)" 0
# Cross-check: a listener of the same user is sent a greeting.
listen env
run 0 env SONDE_SOCKET=sonde-test-$$ "$zones"
holds "$(heard) > 100"

# A setuid program ignores sonde's variables in an environment that its user made.
mkdir -m 700 private
cp "$zones" setuid
chown 0:0 setuid
chmod 4755 setuid
as_user env SONDE_OUT="$work/private/evil.sonde" "$work/setuid" >/dev/null
equal "$(ls private)" ""
# Cross-check: run by root, it writes there.
env SONDE_OUT="$work/private/own.sonde" "$work/setuid" >/dev/null
matches "$(ls private)" "^own\."

# Processes that root's command started may change their user; processes of others are rejected, and the report says
# so.
chmod 755 "$work"/zones
other=(setpriv --reuid=65534 --regid=65534 --clear-groups)
# shellcheck disable=SC2016
run 0 "$SONDE" record -q -o a.sonde -- sh -c '"$@"; echo $SONDE_SOCKET >name.new; mv name.new name; until [ -e done ]; do sleep 0.05; done' \
	sh "${other[@]}" "$zones" &
wait_for test -e name
"${other[@]}" env SONDE_SOCKET="$(cat name)" "$zones"
touch done
wait $!
equal "$(rows a.sonde zones | jq '[.[].calls] | add')" 10
run 0 "$SONDE" report a.sonde
has "$(tr -s '\n ' ' ' <<<"$out")" \
	"1 process of other users asked to be recorded and was refused, not known to come from the command: record as the user who runs it"
blocks=$(target blocks)
for option in "" --no-perf; do
	run 0 "$SONDE" record -q --heap=full $option -f -o a.sonde -- "${other[@]}" "$blocks" known
	equal "$(rows a.sonde heap | jq '[.[] | select(.function == "keeps").left_blocks] | add')" \
		"$("$SONDE" record -q --heap=full -f -o b.sonde -- "$blocks" known >/dev/null && rows b.sonde heap | jq '[.[] | select(.function == "keeps").left_blocks] | add')"
done
