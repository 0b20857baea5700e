# $1: what separates answers; $2: file for error messages; then kind and text of every question. An
# answer is the separator, kind, text, status and reason, each on a line, then what was read.
mark=$1 errors=$2.$$ nl='
'; shift 2
trap 'rm -f "$errors" "$errors".*' EXIT
trap 'exit 1' HUP INT TERM
# A line of a thousand that a command wrote suffices.
why() {
    n=0 first=
    { IFS= read -r first; while IFS= read -r l; do n=$((n + 1)); done; } < "$errors"
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
    text=$($read "$1" 2>"$errors"; printf 'x%s' $?)
    status=${text##*x} text=${text%x*}
    if [ "$status" = 0 ]; then answer file "$1" 0 ""; printf '%s\n' "$text"
    elif [ "$status" = 127 ]; then answer file "$1" 1 "failed: no such program: ${read%% *}"
    else answer file "$1" 1 "failed: $(why)"; fi
}
# Without a process: there may be a thousand. What gives no line is looked at properly.
small() {
    got=
    { while IFS= read -r l || [ -n "$l" ]; do got="$got$l$nl"; done < "$1"; } 2>/dev/null
    if [ -n "$got" ]; then answer file "$1" 0 ""; printf '%s\n' "$got"; else one "$1"; fi
}
# $1: name of a command; $2: what it wrote, and its status
gave() {
    text=${2%x*}
    case ${2##*x} in
    0) answer command "$1" 0 ""; printf '%s\n' "$text" ;;
    127) answer command "$1" 1 "no such program" ;;
    *) answer command "$1" 1 "failed: $(why)" ;;
    esac
}
while [ $# -gt 1 ]; do
    kind=$1 text=$2; shift 2
    case $kind in
    file) one "$text" ;;
    glob)
        answer glob "$text" 0 ""
        for path in $text; do [ -e "$path" ] && printf '%s\n' "$path"; done
        for path in $text; do [ -f "$path" ] && small "$path"; done ;;
    command) gave "${text%%=*}" "$(sh -c "${text#*=}" 2>"$errors" </dev/null; printf 'x%s' $?)" ;;
    begin)
        { sh -c "${text#*=}" 2>"$errors.${text%%=*}" </dev/null; printf 'x%s' $?; } \
            > "$errors.${text%%=*}.out" & ;;
    end)
        wait
        mv "$errors.$text" "$errors"
        gave "$text" "$(cat "$errors.$text.out")" ;;
    esac
done
answer end end 0 ""
