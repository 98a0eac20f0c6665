# haskell.sh: stacks of code compiled by GHC reach the start of the thread through the runtime.
# measures: shares of samples by how they were unwound
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq ghc
need_perf
cat >Main.hs <<'END'
main :: IO ()
main = print (go 900000000 1) where
  go :: Int -> Int -> Int
  go 0 s = s
  go n s = go (n - 1) (s * 3 + n `mod` 7)
END
ghc -v0 -O1 -o program Main.hs
run 0 "$SONDE" record -q -o run.sonde -- ./program
complete=$(metric run.sonde samples.complete_percent)
echo "$complete % of $(metric run.sonde samples.count) samples are complete"
holds "$complete >= 90"
"$SONDE" export -q -f folded -o - run.sonde | grep -E ';main;hs_main;.*;(Main|base|ghczmprim)[A-Za-z_0-9]* [0-9]+$' >some || fail "no stack leads from main to Haskell code"
