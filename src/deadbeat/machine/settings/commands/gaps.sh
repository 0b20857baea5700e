# meanwhile
# Of /proc/uptime (10 ms) and of the shell's own waiting for a CPU, without any other process.
# Whoever is kept waiting right before or after it looks at the clock has waited within the gap:
# so what counts is the waiting from before the earlier look to after the later one.
centi() { read up idle < /proc/uptime; now=${up%.*}${up#*.}; }
waited() { read run wait slices < /proc/self/schedstat; }
waited || exit 1; before=$wait; centi; first=$now last=$now; waited; between=$wait
while [ $((now - first)) -lt 30 ]; do
    centi; waited
    [ $((now - last)) -lt 2 ] || echo "gap $((last - first)) $((now - last)) $((wait - before))"
    last=$now before=$between between=$wait
done
echo "end $((now - first))" 
