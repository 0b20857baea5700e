# CPUs that the group of this process may use: of the nearest group that says so.
two=$(sed -n 's/^0:://p' /proc/self/cgroup)
one=$(sed -nE 's/^[0-9]+:([^:]*,)?cpuset(,[^:]*)?:(.*)$/\3/p' /proc/self/cgroup)
look() { # hierarchy, group, file
    at=${2%/}
    while :; do
        cpus=$(cat "$1$at/$3" 2>/dev/null)
        [ -z "$cpus" ] || { echo "$1$at/$3 $cpus"; exit 0; }
        [ -n "$at" ] || break
        at=${at%/*}
    done
}
[ -z "$one" ] || look /sys/fs/cgroup/cpuset "$one" cpuset.effective_cpus
for top in /sys/fs/cgroup /sys/fs/cgroup/unified; do
    [ -z "$two" ] || look "$top" "$two" cpuset.cpus.effective
done
[ -r /proc/self/cgroup ] && echo none
