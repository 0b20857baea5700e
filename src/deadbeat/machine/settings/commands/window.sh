# alone
# It is the last command that counts.
look() {
    echo ==uptime; cat /proc/uptime
    echo ==tasks; cat /proc/[0-9]*/task/[0-9]*/stat 2>/dev/null
    echo ==interrupts; cat /proc/interrupts
    echo ==softirqs; cat /proc/softirqs
    echo ==stat; cat /proc/stat
    echo ==smi; rdmsr -d 0x34 2>/dev/null
}
echo ==before; look; sleep 0.5 2>/dev/null || sleep 1; echo ==after; look; [ -r /proc/stat ]
