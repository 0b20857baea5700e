# The limit in force, then the programs that hold one, if there is one.
file=/dev/cpu_dma_latency
[ -r $file ] || { cat $file; exit 1; }
limit=$(od -An -td4 -N4 $file || hexdump -n4 -e '"%d"' $file) && [ -n "$limit" ] || exit 1
echo $limit
[ $limit -ge 2000000000 ] && exit 0
ls -l /proc/[0-9]*/fd 2>/dev/null |
    awk -F/ '/^\/proc/ { pid = $3 } /cpu_dma_latency$/ { print pid }' |
    while read pid; do cat /proc/$pid/comm; done
:
