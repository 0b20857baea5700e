# The tightest limit of CPU time on the way from this process's group to the root.
used() { sed -nE "s|^(nr_periods\|nr_throttled\|throttled_[a-z]+) |$1 &|p" "$1" 2>/dev/null; }
two=$(sed -n 's/^0:://p' /proc/self/cgroup)
one=$(sed -nE 's/^[0-9]+:([^:]*,)?cpu(,[^:]*)?:(.*)$/\3/p' /proc/self/cgroup)
for top in /sys/fs/cgroup /sys/fs/cgroup/unified; do
    at=${two%/}
    while :; do
        [ -r "$top$at/cpu.max" ] && echo "$top$at/cpu.max $(cat "$top$at/cpu.max")"
        used "$top$at/cpu.stat"
        [ -n "$at" ] || break
        at=${at%/*}
    done
done
for top in /sys/fs/cgroup/cpu /sys/fs/cgroup/cpu,cpuacct; do
    at=${one%/}
    while :; do
        f=$top$at/cpu.cfs_quota_us
        [ -r "$f" ] && echo "$f $(cat "$f") $(cat "$top$at/cpu.cfs_period_us")"
        used "$top$at/cpu.stat"
        [ -n "$at" ] || break
        at=${at%/*}
    done
done
[ -r /proc/self/cgroup ]
