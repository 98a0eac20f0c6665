# ui-token.sh: `sonde view` opens the browser with a file that only its user can read; the page removes the token from
# the address bar.
# timeout: 120
. "$(dirname "$0")/../lib.sh"
. "$repo/tests/cli/ui-lib.sh"
mkdir bin
printf '#!/bin/sh\nprintf "%%s" "$1" >"$HOME/opened"\n' >bin/xdg-open
chmod +x bin/xdg-open
unset SSH_CONNECTION
cp "$repo/tests/golden/small.sonde" app.sonde
PATH=$work/bin:$PATH DISPLAY=:99 "$SONDE" view -q --port 0 app.sonde >app.url 2>app.said &
servers+=($!)
wait_for test -s opened
ui_node token.mjs "$browser" "$(head -n 1 app.url)" "$(cat opened)"
