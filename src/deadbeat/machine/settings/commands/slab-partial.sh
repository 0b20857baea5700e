set -- /sys/kernel/slab/*/cpu_partial; cat "$1" > /dev/null && cat "$@"
