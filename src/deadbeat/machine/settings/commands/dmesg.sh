dmesg
