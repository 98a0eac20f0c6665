# stacks: how many sampled stacks are complete in programs of many kinds, and why the others are not
#
# SONDE_BEFORE names an older build to compare with: its stacks are the anchor, and the recorder's CPU time is given as the
# ratio new ÷ old of interleaved runs. STACKS_ONLY="openssl-sha512 ffmpeg" measures only these programs.
source "$(dirname "$0")/lib.bash"
source "$repo/bench/anchors.bash"

rounds=$(n 5 1)
before=${SONDE_BEFORE:-}
no_perf=$(perf_missing)
declare -A missing=()

# --- the programs -------------------------------------------------------------------------------------------------------

need() {
	local name=$1 tool
	shift
	for tool; do
		command -v "$tool" >/dev/null || missing[$name]="$tool is not installed"
	done
}

cat >Work.java <<'END'
import java.util.*;
public class Work {
	static long collatz(long n) { long steps = 0; while (n != 1) { n = (n & 1) == 0 ? n / 2 : 3 * n + 1; steps++; } return steps; }
	static String render(Map<String, Integer> map) { StringBuilder out = new StringBuilder(); for (var e : map.entrySet()) out.append(e.getKey()).append(e.getValue()); return out.toString(); }
	public static void main(String[] args) {
		long end = System.nanoTime() + Long.parseLong(args[0]) * 1000000L, sum = 0;
		while (System.nanoTime() < end) {
			for (long i = 1; i < 20000; i++) sum += collatz(i);
			Map<String, Integer> map = new HashMap<>();
			for (int i = 0; i < 3000; i++) map.merge("key" + i % 700, i, Integer::sum);
			sum += render(map).length();
		}
		System.out.println(sum);
	}
}
END
cat >work.erl <<'END'
-module(work).
-export([main/1]).
fib(N) when N < 2 -> N;
fib(N) -> fib(N - 1) + fib(N - 2).
words(N) -> lists:foldl(fun(I, M) -> maps:update_with(I rem 97, fun(V) -> V + I end, 1, M) end, #{}, lists:seq(1, N)).
main(N) -> [begin fib(24), words(20000) end || _ <- lists:seq(1, N)], ok.
END
cat >Work.hs <<'END'
import qualified Data.Map.Strict as Map
import Data.List (foldl')
import System.Environment (getArgs)
collatz :: Int -> Int
collatz n = go n 0 where go 1 s = s; go m s = go (if even m then m `div` 2 else 3 * m + 1) (s + 1)
count :: Int -> Map.Map Int Int
count n = foldl' (\m i -> Map.insertWith (+) (collatz i `mod` 97) i m) Map.empty [1 .. n]
main :: IO ()
main = do
  [n] <- getArgs
  print (Map.foldlWithKey' (\a k v -> a + k * v) 0 (count (read n)))
END
cat >short.sh <<'END'
i=0
while [ $i -lt 300 ]; do /bin/true; i=$((i + 1)); done
END
script='
let sum = 0;
for (let i = 0; i < process.argv[1]; i++) {
	const map = new Map();
	for (let k = 0; k < 3000; k++) map.set("key" + k % 700, (map.get("key" + k % 700) || 0) + k);
	sum += JSON.parse(JSON.stringify([...map].sort((a, b) => b[1] - a[1]))).length;
}
console.log(sum);'
product='set.seed(1); a <- matrix(runif(2250000), 1500); for (i in 1:as.integer(commandArgs(TRUE)[1])) b <- a %*% a; print(sum(b))'
loop='
import json
for i in range(int(__import__("sys").argv[1])):
    json.dumps({str(k): [k] * 5 for k in sorted(range(2000), key=lambda x: -x)})'

digests=(sha1 sha256 sha512 sha3-256 blake2b512 md5)
make_text "$(n 6000000 1000000)" >text
make_source "$(n 300 60)" >source.c
make_source "$(n 700 150)" >larger.c
head -c "$(n 600000000 150000000)" /dev/zero >zeros
for digest in "${digests[@]}"; do
	need "openssl-$digest" openssl
done
for name in aes chacha20 rsa p256; do
	need "openssl-$name" openssl
done
need ffmpeg ffmpeg
[ -n "${missing[ffmpeg]:-}" ] || grep -q " libx264 " <(ffmpeg -hide_banner -encoders 2>&1) ||
	missing[ffmpeg]="this ffmpeg has no libx264"
need r Rscript
need java java javac
need erlang erl erlc
need ghc ghc
need ghc-program ghc
for tool in clang gcc node sqlite3 zstd python3; do
	need $tool $tool
done
[ -n "${missing[java]:-}" ] || javac Work.java >&2
[ -n "${missing[erlang]:-}" ] || erlc work.erl >&2
[ -n "${missing[ghc]:-}" ] || ghc -O1 -o work-ghc Work.hs >&2 || missing[ghc-program]="ghc does not compile here"

command_of() {
	case $1 in
	openssl-aes) command=(openssl speed -seconds "$(n 2 1)" -bytes 16384 -evp aes-256-gcm) ;;
	openssl-chacha20) command=(openssl speed -seconds "$(n 2 1)" -bytes 16384 -evp chacha20-poly1305) ;;
	openssl-rsa) command=(openssl speed -seconds "$(n 2 1)" rsa2048) ;;
	openssl-p256) command=(openssl speed -seconds "$(n 2 1)" ecdsap256) ;;
	openssl-*) command=(openssl dgst "-${1#openssl-}" zeros) ;;
	ffmpeg) command=(ffmpeg -v error -nostdin -f lavfi -i testsrc2=size=1280x720:rate=30 -t "$(n 8 2)" -c:v libx264 -f null -) ;;
	r) command=(Rscript -e "$product" "$(n 12 4)") ;;
	java) command=(java -cp . Work "$(n 4000 1500)") ;;
	erlang) command=(erl -noshell -pa . -eval "work:main($(n 300 80)),halt().") ;;
	ghc) command=(ghc -O1 -fforce-recomp -outputdir ghc.out -o ghc.work Work.hs) ;;
	ghc-program) command=(./work-ghc "$(n 1000000 300000)") ;;
	short) command=(sh short.sh) ;;
	clang) command=(clang -O2 -c larger.c -o larger.o) ;;
	gcc) command=(gcc -O2 -c source.c -o source.o) ;;
	sqlite3) command=(sqlite3 :memory: "$sqlite_query") ;;
	zstd) command=(zstd -19 -q -f text -o text.zst) ;;
	node) command=(node -e "$script" "$(n 2500 700)") ;;
	python3) command=(python3 -c "$loop" "$(n 700 200)") ;;
	esac
}

# --- one round ----------------------------------------------------------------------------------------------------------

# record WHICH NAME BINARY
record() {
	local key=$2.$1
	cost "$key" "$3" record -q -f -F 1000 -o "$key.sonde" -- "$programs/cost" "$work/cost.$key.inner" "${command[@]}"
	keep "$key.whole" "$(metric "$key.sonde" samples.complete_percent)"
	keep "$key.recorder" "$(paste <(cost_of "$key" cpu) <(cost_of "$key.inner" cpu) | awk 'END { print $1 - $2 }')"
	reasons "$key.sonde" >>"$work/reasons.$key"
}

# One line per reason: the number of samples, then the reason.
reasons() {
	"$SONDE" query -f csv "$1" "SELECT status, count(*) AS samples FROM samples GROUP BY status" |
		awk -F, 'NR > 1 && !/not sampled|of the same program/ { n = $NF; sub(/,[^,]*$/, ""); gsub(/"/, ""); print n "\t" $0 }'
}

# Of all samples of all rounds: "12.1 % impossible frame address, 0.3 % …".
why() {
	[ -s "$work/reasons.$1" ] || return 0
	awk -F'\t' '
		{ all += $1; if ($2 !~ /^complete/) n[$2] += $1 }
		END { for (r in n) printf "%.9f\t%s\n", 100 * n[r] / all, r }' "$work/reasons.$1" | sort -rg |
		awk -F'\t' '{ printf "%s%.1f %% %s", (NR > 1 ? ", " : ""), $1, $2 }'
}

measure() {
	local name=$1 round
	for ((round = 0; round < rounds; round++)); do
		say "$name, round $((round + 1)) of $rounds"
		if [ -n "$before" ] && ((round % 2)); then
			record before "$name" "$before"
		fi
		record now "$name" "$SONDE"
		if [ -n "$before" ] && ! ((round % 2)); then
			record before "$name" "$before"
		fi
	done
	[ -z "$before" ] || paste "$work/series.$name.now.recorder" "$work/series.$name.before.recorder" |
		awk 'NF == 2 && $2 > 0 { print $1 / $2 }' | keep "$name.ratio"
	[ -n "$no_perf" ] || {
		perf record -q -F 1000 --call-graph dwarf -o "$name.perf" -- "${command[@]}" >&2 </dev/null
		keep "$name.perf" "$(perf_roots "$name.perf")"
		rm -f "$name.perf"
	}
}

report() {
	local name=$1 limit=$2 anchor=
	[ -z "$before" ] || anchor="before $(text "$name.before.whole" %)"
	[ -n "$no_perf" ] && anchor=${anchor:-$no_perf} || anchor="${anchor:+$anchor, }perf dwarf $(text "$name.perf" %)"
	if [ "$limit" = 0 ]; then
		info "$name: complete stacks" "$name.now.whole" % "$anchor" "$(why "$name.now")"
	else
		judge "$name: complete stacks" "$name.now.whole" % "$anchor" "≥ $limit %" ">=" "$limit" "$(why "$name.now")"
	fi
	case $name in
	sqlite3 | zstd | gcc)
		[ -z "$before" ] ||
			judge "$name: recorder's CPU, new build to old" "$name.ratio" "" "$(text "$name.before.recorder" s)" "≤ 1.05" "<=" 1.05
		;;
	*) [ -z "$before" ] || info "$name: recorder's CPU, new build to old" "$name.ratio" "" "$(text "$name.before.recorder" s)" ;;
	esac
}

# NAME:BAR
for each in "${digests[@]/#/openssl-}" openssl-{aes,chacha20,rsa,p256} ffmpeg r java:90 erlang:0 ghc:90 ghc-program:90 short clang node sqlite3 zstd gcc python3; do
	name=${each%:*} limit=97
	[[ $each = *:* ]] && limit=${each#*:}
	[ -z "${STACKS_ONLY:-}" ] || [[ " $STACKS_ONLY " = *" $name "* ]] || continue
	if [ -n "${missing[$name]:-}" ]; then
		unavailable "$name: complete stacks" "perf dwarf" "≥ $limit %" "${missing[$name]}"
		continue
	fi
	command_of "$name"
	measure "$name"
	report "$name" "$limit"
done
