# $1: what separates answers; then kind and text of every question. An answer is the separator, kind,
# text, status and reason, each on a line, then what was read. Nothing is written to any file.
mark=$1 nl='
'; shift
# A line of a thousand that a command wrote suffices.
why() {
    n=0 first=
    IFS= read -r first; while IFS= read -r l; do n=$((n + 1)); done
    [ "$n" = 0 ] || first="$first (and $n more lines)"
    printf '%s' "$first"
}
answer() { printf '%s\n%s\n%s\n%s\n%s\n' "$mark" "$1" "$2" "$3" "$4"; }
missing() {
    up=${1%/*}
    while [ -n "$up" ] && [ ! -e "$up" ]; do up=${up%/*}; done
    if [ -d "${up:-/}" ] && [ ! -x "${up:-/}" ]; then answer file "$1" 1 "denied: $up may not be searched"
    else answer file "$1" 1 "no such file"; fi
}
one() {
    [ -e "$1" ] || { missing "$1"; return; }
    [ ! -d "$1" ] || { answer file "$1" 1 "failed: it is a folder"; return; }
    case $1 in *.gz) read='gzip -dc' ;; *) read=cat ;; esac
    text=$($read "$1" 2>/dev/null; printf 'x%s' $?)
    status=${text##*x} text=${text%x*}
    if [ "$status" = 0 ]; then answer file "$1" 0 ""; printf '%s\n' "$text"
    elif [ "$status" = 127 ]; then answer file "$1" 1 "failed: no such program: ${read%% *}"
    else answer file "$1" 1 "failed: $($read "$1" 2>&1 >/dev/null | why)"; fi
}
# Without a process: there may be a thousand. What gives no line is looked at properly.
small() {
    got=
    { while IFS= read -r l || [ -n "$l" ]; do got="$got$l$nl"; done < "$1"; } 2>/dev/null
    if [ -n "$got" ]; then answer file "$1" 0 ""; printf '%s\n' "$got"; else one "$1"; fi
}
# What a command writes, an x and its status, and on the last line why it failed.
run() { { { sh -c "$1" </dev/null 2>&1 >&3 3>&-; printf 'x%s\n' $? >&3; } | { why; echo .; } } 3>&1; }
# $1: a command's name and words
command() {
    said=$(run "${1#*=}")
    reason=${said##*"$nl"} said=${said%"$nl"*}
    case ${said##*x} in
    0) answer command "${1%%=*}" 0 ""; printf '%s\n' "${said%x*}" ;;
    127) answer command "${1%%=*}" 1 "no such program" ;;
    *) answer command "${1%%=*}" 1 "failed: ${reason%.}" ;;
    esac
}
ask() {
    while [ $# -gt 1 ]; do
        kind=$1 text=$2; shift 2
        case $kind in
        file) one "$text" ;;
        glob)
            answer glob "$text" 0 ""
            for path in $text; do [ -e "$path" ] && printf '%s\n' "$path"; done
            for path in $text; do [ -f "$path" ] && small "$path"; done ;;
        command) command "$text" ;;
        # It is kept in memory until everything else is written.
        beside) command "$text" | { ask "$@"; cat; }; return ;;
        esac
    done
}
ask "$@"
answer end end 0 ""
