# bare-root.sh: scripts/demo and scripts/test --quick work in a bare Debian root: no installation step is missing.
# tier: long
# timeout: 900
exec "$(dirname "$0")/../../../scripts/test-bare"
