files=$(ls /proc/self/fd) && echo "$files" | wc -l
