# node.sh: stacks go through JavaScript to the start of the thread, with names if node writes a perf map; unnamed code
# is one row.
# measures: shares of samples by how they were unwound
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq node
need_perf
cat >chain.js <<'END'
function burn(n) { let s = n; for (let i = 0; i < n; i++) s = (s + (i ^ (s << 1))) | 0; return s; }
function c(n) { return burn(n) + 1; }
function b(n) { return c(n) + 1; }
function a(n) { return b(n) + 1; }
const end = process.cpuUsage().user + 1e6 * Number(process.argv[2]);
let sum = 0;
while (process.cpuUsage().user < end) sum += a(20000) + [3, 1, 2].sort((x, y) => x - y)[0];
END

# complete FILE: share of complete stacks in what node ran.
complete() {
	echo "$1: $(metric "$1" samples.complete_percent) % of $(metric "$1" samples.count) samples are complete"
	holds "$(metric "$1" samples.complete_percent) >= 97"
}

run 0 "$SONDE" record -q -o plain.sonde -- node --no-turbo-inlining chain.js 0.7
complete plain.sonde
holds "$(rows plain.sonde functions | jq '[.[] | select(.module == "[anon]")] | length') <= 1"
holds "$(share plain.sonde self_share '[anon]') >= 50"

run 0 "$SONDE" record -q -o named.sonde -- node --no-turbo-inlining --perf-basic-prof --interpreted-frames-native-stack chain.js 0.7
complete named.sonde
"$SONDE" export -q -f folded -o named.folded named.sonde
total=$(awk '{ sum += $NF } END { print sum }' named.folded)
chain=$(awk '/JS:.?a [^;]*;([^;]*;)?JS:.?b [^;]*;([^;]*;)?JS:.?c [^;]*;([^;]*;)?JS:.?burn / { sum += $NF } END { print sum + 0 }' named.folded)
holds "100 * $chain / $total >= 50"
