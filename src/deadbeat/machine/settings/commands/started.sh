# Services that the boot without systemd starts: OpenRC's default run level, else System V's.
[ -d /etc/runlevels/default ] && { echo "OpenRC $(ls /etc/runlevels/default | wc -l)"; exit 0; }
[ -d /run/systemd/system ] && { echo "systemd runs here" >&2; exit 1; }
[ -d /var/service ] && { echo "runit $(ls /var/service | wc -l)"; exit 0; }
for d in /etc/rc5.d /etc/rc2.d /etc/rcS.d /etc/init.d; do
    n=$(ls $d 2>/dev/null | grep -c '^S[0-9]')
    [ "$n" -gt 0 ] && { echo "$d $n"; exit 0; }
done
echo "no systemd, OpenRC, runit or links of System V" >&2; exit 1
