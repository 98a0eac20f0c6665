# programs.sh: programs of many kinds write the same, leave the same files and exit alike with and without sonde, and none
# hangs: those of programs.list that are marked fast, each under all kinds of recording together and one more.
# timeout: 240
. "$(dirname "$0")/../lib.sh"
. "$repo/tests/cli/programs-lib.sh"
need python3 awk
programs_run --fast
holds "$programs_ran >= 20" "(so many kinds of programs are here)"
