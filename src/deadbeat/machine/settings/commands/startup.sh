[ -d /run/systemd/system ] || { echo "systemd does not run here" >&2; exit 1; }; systemd-analyze time
