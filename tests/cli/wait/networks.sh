# networks.sh: bytes that pass a bridge, a veth pair and its peer count once in the system's sum, and each interface
# has its own count.
# timeout: 60
. "$(dirname "$0")/../lib.sh"
need jq ip unshare
[ "$(id -u)" -eq 0 ] || skip "only root makes interfaces"
cat >inside.sh <<'S'
set -e
mount -t sysfs none /sys
ip link add v0 type veth peer name v1
ip link add br0 type bridge
ip link set v0 master br0
for name in v0 v1 br0; do ip link set $name up; done
ip addr add 10.9.0.1/24 broadcast 10.9.0.255 dev v1
exec "$SONDE" stat -f --json -o used.json -- bash -c 'sleep 0.3; for i in {1..50}; do
	{ printf %01000d 0 >/dev/udp/10.9.0.9/9; } 2>/dev/null || :; done; sleep 1'
S
unshare -nm true 2>.err || skip "no namespace of its own: $(cat .err)"
unshare -nm bash -c 'mount -t sysfs none /sys && ip link add v0 type veth peer name v1 && ip link add br0 type bridge' 2>.err ||
	skip "no bridge here: $(cat .err)"
run 0 unshare -nm bash inside.sh
jq .network used.json >network
equal "$(jq -c '[.interfaces[].name] | sort' network)" '["br0","lo","v0","v1"]'
for way in received_b sent_b; do
	equal "$(jq .$way network)" "$(jq ".interfaces[] | select(.name == \"v1\").$way" network)"
done
holds "$(jq '.received_b + .sent_b' network) > 0" "something went through"
holds "$(jq '[.interfaces[] | .received_b + .sent_b] | add' network) > 1.5 * $(jq '.received_b + .sent_b' network)" "more than once"
