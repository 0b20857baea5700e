[ -d /run/systemd/system ] || { echo "systemd does not run here" >&2; exit 1; }
echo "state $(systemctl is-system-running 2>/dev/null)"
count() { systemctl list-units --type=$1 --state=$2 --no-legend --plain | grep -c .; }
echo "active $(count service active)"
echo "running $(count service running)"
echo "timers $(count timer active)" 
