# programs.sh: programs of many kinds have the same output, files and exit code with and without sonde, and none hangs.
# The programs are those marked fast in programs.list; each runs under all kinds of recording together, and under one
# more kind.
# timeout: 240
. "$(dirname "$0")/../lib.sh"
. "$repo/tests/cli/programs-lib.sh"
need python3 awk
programs_run --fast
holds "$programs_ran >= 20" "(so many kinds of programs are here)"
