# bare-root.sh: scripts/demo and scripts/test --quick work in a bare Debian root: no install step is missing.
# alone: it fills both processors
# tier: long
# timeout: 900
exec "$(dirname "$0")/../../scripts/test-bare"
