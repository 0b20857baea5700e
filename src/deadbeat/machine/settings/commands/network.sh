# How long devices of the network gather packets, and whether their link sleeps.
command -v ethtool > /dev/null || { echo "ethtool is not installed" >&2; exit 1; }
for device in /sys/class/net/*/device; do
    [ -e "$device" ] || continue
    name=${device%/device} name=${name##*/}
    echo "==$name"; ethtool -c "$name" 2>&1; ethtool --show-eee "$name" 2>&1
done
[ -d /sys/class/net ] && echo ==
