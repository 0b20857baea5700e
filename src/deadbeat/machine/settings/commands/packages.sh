# Files of the package managers, so that none of them has to run (rpm keeps no plain one).
count() { [ -r "$2" ] && { echo "$1 $(grep -c "$3" "$2")"; exit 0; }; }
count dpkg /var/lib/dpkg/status '^Status:.* installed$'
count apk /lib/apk/db/installed '^P:'
for f in /var/lib/opkg/status /usr/lib/opkg/status; do count opkg $f '^Package:'; done
[ -d /var/lib/pacman/local ] && { echo "pacman $(ls /var/lib/pacman/local | grep -c -)"; exit 0; }
command -v rpm > /dev/null && { echo "rpm $(rpm -qa | wc -l)"; exit 0; }
echo "no package manager is known here (dpkg, apk, opkg, pacman, rpm)" >&2; exit 1
