# programs-all.sh: all programs of programs.list under each kind of recording (scripts/deps programs installs them).
# tier: long
# timeout: 7200
. "$(dirname "$0")/../lib.sh"
. "$repo/tests/cli/programs-lib.sh"
need python3 awk
programs_run
holds "$programs_ran >= 120" "(scripts/deps programs installs what is missing)"
