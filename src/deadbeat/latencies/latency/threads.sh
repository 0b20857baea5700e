# For every thread: `status` only tells what `stat` does not. Spaces cannot be in {out}: our file.
for process in /proc/[0-9]*; do
    read -r name < $process/comm || continue
    [ "$name" = cyclictest ] || continue
    tr '\0' '\n' < $process/cmdline | grep -qxF -e "--json={out}" || continue
    for thread in $process/task/[0-9]*; do
        [ "${thread##*/}" = "${process##*/}" ] && continue
        cat $thread/stat && sed -n 's/^Cpus_allowed_list:[[:space:]]*/allowed /p' $thread/status
    done
done 2>/dev/null; :
