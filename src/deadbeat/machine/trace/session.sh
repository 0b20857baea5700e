# $1 mount, $2 place, $3 KB, $4 CPUs, $5 events needed, $6 other events, $7 CPU mask; without it
# what others left is removed, and that is all
trap '' INT HUP PIPE
say() { printf '%s\n' "$*"; }
give_up() { say "no $*"; exit 0; }
mounted=$1 root=$2 kb=$3 cpus=$4 needed=$5 others=$6 mask=$7 script=$0
if [ ! -w "$root/trace_clock" ]; then
    [ ! -e "$root/trace_clock" ] || give_up "tracefs on $root is read-only, or not ours to write"
    if [ "$mounted" = 0 ]; then
        command -v unshare >/dev/null || give_up "tracefs is not mounted, and there is no unshare to mount it privately"
        why=$(unshare -m true 2>&1) || give_up "tracefs is not mounted, and must not be: $why"
        shift
        exec unshare -m sh -c "$script" "$script" 1 "$@"
    fi
    why=$(mount -t tracefs tracefs "$root" 2>&1) || give_up "tracefs cannot be mounted: $why"
fi
[ -d "$root/instances" ] || give_up "this kernel has no instances of event tracing"
drop() { rmdir "$1" 2>/dev/null; }
# Removes instance $1; where its shell $2 is dead, whatever reads it ends in a moment.
sure() {
    for try in 1 2 3 4 5 6 7 8 9; do
        [ -d "$1" ] && ! drop "$1" && [ ! -e "/proc/$2" ] || break
        sleep 0.3
    done
}
for old in "$root"/instances/deadbeat-*; do sure "$old" "${old##*-}"; done
[ -n "$mask" ] || exit 0
i=$root/instances/deadbeat-$$
trap 'exec 9<&-; sure "$i" none' EXIT
trap 'exit 0' TERM
for try in 1 2 3; do
    why=$(mkdir "$i" 2>&1) || give_up "an instance of event tracing is refused: $why"
    # the kernel removes no instance that has an open file; until then another one may tidy it up
    { command exec 9< "$i/tracing_on"; } 2>/dev/null && break
done
set_to() { { printf '%s' "$1" > "$2"; } 2>/dev/null; }
set_to 0 "$i/tracing_on"
set_to mono "$i/trace_clock" || give_up "the clock mono is refused"
set_to "$mask" "$i/tracing_cpumask" || give_up "the CPUs to be traced are refused"
for cpu in $cpus; do
    until set_to "$kb" "$i/per_cpu/cpu$cpu/buffer_size_kb"; do
        kb=$((kb / 2))
        [ "$kb" -ge 256 ] || give_up "no memory for a buffer of 256 KB per CPU"
    done
done
for event in $needed; do
    set_to 1 "$i/events/$event/enable" || give_up "event $event is refused"
done
for event in $others; do set_to 1 "$i/events/$event/enable"; done
say "ready /proc/$$/root$i"  # whoever else writes there may not see what is mounted here alone
while read -r word path; do
    case $word in
    on) { : > "$i/trace"; } 2>/dev/null && set_to 1 "$i/tracing_on" && say ok || say "no tracing could not be switched on" ;;
    off)
        set_to 0 "$i/tracing_on"
        lost=0 full=
        for cpu in $cpus; do
            before=$lost
            while read -r key n rest; do
                case $key in
                overrun:) lost=$((lost + n)) ;;
                dropped) lost=$((lost + rest)) ;;
                esac
            done < "$i/per_cpu/cpu$cpu/stats"
            [ "$lost" = "$before" ] || full="$full $cpu"
        done
        say "ok $lost$full"
        ;;
    save)
        why=$({ cat "$i/trace" > "$path"; } 2>&1) && say ok || { rm -f "$path"; say "no the trace could not be copied: $why"; }
        ;;
    set) set_to "${path#* }" "$i/${path%% *}" && say ok || say "ok refused" ;;
    forget) rm -f "$path" && say ok || say "no the copied trace could not be removed" ;;
    *) say "no such word: $word" ;;
    esac
done
