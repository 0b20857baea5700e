files=
for process in /proc/[0-9]*; do
    read -r name < $process/comm || continue
    case $name in
    stress-ng* | db-load*) ;;
    *) continue ;;
    esac
    files="$files $process/stat $process/cmdline $process/status $process/io"
done 2>/dev/null
[ -z "$files" ] || grep -as '' $files /dev/null | tr '\0' ' '; :
