gzip -dc /proc/config.gz 2>/dev/null || cat /boot/config-$(uname -r) 2>/dev/null || cat /lib/modules/$(uname -r)/config
