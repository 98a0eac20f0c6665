# cpu-split-long.sh: the 60/30/10 split over ten seconds per thread, within 1.5 points.
# measures: shares of CPU time
# tier: long
# timeout: 300
SECONDS_EACH=10 exec bash "$(dirname "$0")/cpu-split.sh"
