ls -l /proc/irq/*/smp_affinity
