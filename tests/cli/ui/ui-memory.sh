# ui-memory.sh: the Memory page in a browser: live memory at any time selected by mouse or keyboard equals `sonde
# report --metric live --at`; heaps are shown separately; tables and histograms are those of the sections.
# timeout: 180
. "$(dirname "$0")/../lib.sh"
. "$repo/tests/cli/ui-lib.sh"
need curl
blocks=$(target blocks) pools=$(target pools)
run 0 "$SONDE" record -q --heap=full -o blocks.sonde -- "$blocks" known
LD_LIBRARY_PATH=$SONDE_BUILD/src/runtime run 0 "$SONDE" record -q --heap=full -o pools.sonde -- "$pools"
run 0 "$SONDE" report -q -f html -o blocks.html blocks.sonde
begin one blocks.sonde
begin two pools.sonde
urls=("$(head -n 1 one.url)" "$(head -n 1 two.url)")

# Over HTTP the same bytes as a report; invalid requests are rejected.
same() { # URL QUERY FILE OPTION…
	curl -sf "${1}api/report?$2" >answer || fail "no answer to $2"
	run 0 "$SONDE" report -q --json "${@:4}" "$3"
	cmp -s answer .out || fail "$2 is another report than ${*:4}"
}
peak_ns=$("$SONDE" report -q --json --section heaps blocks.sonde | jq '.sections[0].rows[0].peak_ns')
same "${urls[0]}" "section=calltree&weigh=live&at=$peak_ns" blocks.sonde --section calltree --metric live --at "${peak_ns}ns"
same "${urls[1]}" "section=timeline,calltree&weigh=left&heap=arena" pools.sonde --section timeline,calltree --metric left --heap-of arena
same "${urls[1]}" "section=timeline&heap=malloc&limit=7" pools.sonde --section timeline --heap-of malloc -n 7
has "$(jq -r '.sections[0].title' answer)" "pools ("
lacks "$(jq -r '.sections[0].title' answer)" "pool "
for query in "weigh=live" "weigh=peak&at=1" "weigh=live&at=999999999999999" "weigh=live&at=-1" "heap=none" "weigh=waiting&heap=malloc"; do
	equal "$(curl -s -o answer -w '%{http_code}' "${urls[0]}api/report?section=calltree&$query")" 400
	holds "$(jq -r '.error | length' answer) > 10"
done
equal "$(curl -s "${urls[1]}api/recording" | jq -c '[.heaps[]] | sort')" '["arena","malloc","ring","shared"]'
equal "$(curl -s "${urls[0]}api/recording" | jq -r '[.weights[] | select(.of_heap) | .name] | index("peak") != null')" true
ui_node memory.mjs "$SONDE" "$browser" "$work/blocks.sonde" "$work/pools.sonde" "$work/blocks.html" "${urls[@]}"
