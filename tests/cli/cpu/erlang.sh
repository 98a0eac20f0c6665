# erlang.sh: stacks of threads that were sampled in Erlang code reach the start of the Erlang process, without frame
# pointers.
# measures: shares of samples by how they were unwound
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq erl erlc
need_perf
cat >chain.erl <<'END'
-module(chain).
-export([main/1]).
burn(0, S) -> S;
burn(N, S) -> burn(N - 1, (S bxor N) band 16#ffff).
descend(1) -> burn(20000, 1);
descend(N) -> descend(N - 1) + 1.
main(N) -> [descend(20) || _ <- lists:seq(1, N)], ok.
END
erlc chain.erl
erl -noshell -eval 'erlang:system_info(emu_flavor) =:= jit orelse halt(1), halt(0).' || skip "this Erlang compiles nothing as it runs"
run 0 "$SONDE" record -q -o plain.sonde -- erl -noshell -pa . -eval 'chain:main(15000),halt().'

# Among samples in Erlang code, which runs on the Erlang process's stack.
"$SONDE" query -q -f csv plain.sonde "SELECT s.status AS status, count(*) AS n FROM samples s JOIN stacks t ON s.stack_id = t.id
	WHERE s.is_sample AND t.function = '[anon]' GROUP BY s.status" >status.csv
awk -F, 'NR > 1 { all += $NF; if ($1 ~ /^complete/) whole += $NF } END { printf "%d of %d\n", whole, all; exit all < 100 || whole < 0.9 * all }' status.csv ||
	fail "stacks of Erlang code are incomplete: $(cat status.csv)"

# Twenty levels of recursion above the running function.
"$SONDE" export -q -f folded -o - plain.sonde | grep -E '(;\[anon\]){20,}' >deep || fail "no stack of twenty frames"
