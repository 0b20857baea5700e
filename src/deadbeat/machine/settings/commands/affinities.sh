grep -sHE '^(Name|Cpus_allowed_list|VmLck):' /proc/[0-9]*/task/[0-9]*/status; [ -r /proc/1/status ]
