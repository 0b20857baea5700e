# Runs commands on a target. $0: deadbeat-run:FOLDER, in which a file tells its keeper. With words: a
# mark, which stands before and after what the command writes, and one command. Without: commands
# one after the other, each a mark and a number of lines, and in these its quoted words. In a
# process group of its own, as sshd starts it.
refused() {
    echo "$1"
    return 1
}

may_start() {
    [ -d "$folder" ] || refused gone || return
    case $1 in
    -* | '') refused missing ;;
    */*)
        [ -e "$1" ] || refused missing || return
        { [ -x "$1" ] && [ ! -d "$1" ]; } || refused denied
        ;;
    *) command -v "$1" >/dev/null || refused missing ;;
    esac
}

run() {
    mark=$1
    shift
    printf '%s %s ' "$mark" $$
    may_start "$1" || return
    echo started
    (exec "$@")
    printf '%s %s\n' "$mark" $?
}

# The 20th of the fields behind the name is when it started.
{ read -r line <"/proc/$$/stat"; } 2>/dev/null
began() { shift 19 && printf '' >"$folder/.sessions/$$-$1"; }
folder=${0#*:}
# shellcheck disable=SC2086 # a list of numbers
began ${line##*) } 2>/dev/null
if [ $# -gt 0 ]; then
    run "$@"
    exit
fi
while read -r mark lines; do
    words=''
    while [ "$lines" -gt 0 ]; do
        IFS= read -r line || exit
        words="$words$line
"
        lines=$((lines - 1))
    done
    eval "set -- $words"
    echo "$mark" >&2
    run "$mark" "$@" </dev/null
    echo "$mark" >&2
done
