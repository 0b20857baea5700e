# The group of this process in the hierarchy of the cpu controller (cgroup v1). In a container
# the mount may begin at the group itself. Without one: what `controlling_group` reads.
group=$(sed -nE 's/^[0-9]+:([^:]*,)?cpu(,[^:]*)?:(.*)$/\3/p' /proc/self/cgroup)
if [ -z "$group" ]; then
    echo none
    group=$(sed -n 's/^0:://p' /proc/self/cgroup)
    while read -r _ _ _ root top rest; do
        case $rest in *' - cgroup2 '*) break ;; esac
    done < /proc/self/mountinfo
    [ -n "$top" ] || exit 0
    [ "$root" = / ] || group=${group#"$root"}
    folder=$top${group%/}
    while :; do
        for file in "$folder/cgroup.type" "$folder/cgroup.controllers"; do
            [ ! -r "$file" ] || echo "$file $(cat "$file")"
        done
        [ "$folder" = "$top" ] && exit 0
        folder=${folder%/*}
    done
fi
for top in /sys/fs/cgroup/cpu /sys/fs/cgroup/cpu,cpuacct; do
    for file in "$top${group%/}/cpu.rt_runtime_us" "$top/cpu.rt_runtime_us"; do
        [ -r "$file" ] && { echo "$file $(cat "$file")"; exit 0; }
    done
done
echo absent
