#!/bin/sh
# Changes settings of a Linux machine so that every one can be put back, also after kill -9.
#
#   sh journal.sh status [STATE]
#   sh journal.sh revert [STATE [force|- [SESSION]]]
#
# STATE is the folder of the journal. A change is one file there, written and synced before the
# setting is touched: ten lines of text, then the bytes that the setting held. Beside it
# NUMBER.applying says that it was about to be written, NUMBER.new (what was read back) that it was
# applied, NUMBER.reverting that it is being put back.
# Needs a shell, cat, mkdir, mv, rm, ls, sync, date and sleep.
#
# Answers are lines of fields that \037 separates; the last one says "end".

LC_ALL=C
export LC_ALL
umask 022
nl='
'
separator=$(printf '\037')
version='deadbeat change 1'
verb=${1:-status}
state=${2:-${DEADBEAT_STATE:-/var/lib/deadbeat/tune}}
if [ $# -ge 2 ]; then shift 2; else shift $#; fi

die() {
    printf '%s\n' "$1" >&2
    exit 1
}

# $1 without blanks around it, and with single ones inside -> $plain
plain() {
    set -f
    # shellcheck disable=SC2086  splitting is what is wanted
    set -- $1
    set +f
    plain="$*"
}

tell() {
    line=$1
    shift
    for field; do
        plain "$field"
        line=$line$separator$plain
    done
    printf '%s\n' "$line"
}

# What $2 says in the form $1, so that two texts can be compared -> $meant
meaning() {
    plain "$2"
    meant=$plain
    case $1 in
    selected)
        case $2 in
        *\[*\]*) meant=${2#*\[} meant=${meant%%\]*} ;;
        *\(*\)*) meant=${2#*\(} meant=${meant%%\)*} ;;
        esac ;;
    mask)
        while :; do case $meant in *,*) meant=${meant%%,*}${meant#*,} ;; *) break ;; esac; done
        while :; do case $meant in 0?*) meant=${meant#0} ;; *) break ;; esac; done ;;
    esac
}

# Content of $1 -> $now; else false and $why
fetch() {
    now=$(cat "$1" 2>/dev/null; printf 'x%s' $?)
    status=${now##*x} now=${now%x*}
    [ "$status" = 0 ] && return 0
    why=$(cat "$1" 2>&1 >/dev/null)
    why=${why##*: }
    return 1
}

boot_of() {
    boot_now=$(cat "$1/proc/sys/kernel/random/boot_id" 2>/dev/null) ||
        boot_now=$(cat /proc/sys/kernel/random/boot_id 2>/dev/null) || boot_now=unknown
}

# A journal is obeyed by root: whoever can write to it can have any file overwritten. $1: "reading"
# where root's is good enough.
guarded() {
    # shellcheck disable=SC2046  splitting is what is wanted
    set -- "$1" $(ls -ldn "$state/." 2>/dev/null)
    case $2 in
    d????w* | d???????w*) die "others can write to the journal's folder: chmod go-w $state" ;;
    d*) ;;
    *) die "the journal in $state cannot be read" ;;
    esac
    # shellcheck disable=SC3067  dash, bash and busybox have it
    [ -O "$state/." ] || [ "$1 $4" = 'reading 0' ] ||
        die "the journal's folder $state belongs to another user"
}

# The record $1 -> $session $boot $time $root $path $form $want $reason $snapshots $old
read_record() {
    # Left there while others could write to the folder. Who reads root's journal owns none of it.
    # shellcheck disable=SC3067
    if [ -O "$state/." ] && [ ! -O "$1" ]; then return 1; fi
    {
        IFS= read -r found && [ "$found" = "$version" ] || return 1
        IFS= read -r session && IFS= read -r boot && IFS= read -r time && IFS= read -r root &&
            IFS= read -r path && IFS= read -r form && IFS= read -r want && IFS= read -r reason &&
            IFS= read -r snapshots || return 1
        old=$(cat; printf x)
        old=${old%x}
    } < "$1"
    file=$root$path
}

# The bytes that the record $1 keeps, to standard output.
kept() {
    {
        for line in 1 2 3 4 5 6 7 8 9 10; do IFS= read -r _; done
        cat
    } < "$1"
}

# Marks go first: one without its record would be taken for the mark of a later one.
drop() { rm -f "$1.applying" "$1.new" "$1.reverting" "$1"; }

# One change of the journal at a time. The lock is the kernel's where there is flock: whoever is
# killed loses it, and a child that still writes keeps it until it is done.
lock() {
    mkdir -p "$state" 2>/dev/null || die "the journal in $state cannot be written"
    guarded writing
    (: >> "$state/lock") 2>/dev/null || die "the journal in $state cannot be written"
    tries=0
    if command -v flock >/dev/null; then
        exec 9>>"$state/lock"
        until flock -n 9; do wait_for_lock; done
    else
        boot_of ''
        until ln -s "$$ $boot_now" "$state/owner" 2>/dev/null; do
            owner=$(ls -l "$state/owner" 2>/dev/null) owner=${owner##*-> }
            [ -z "$owner" ] || alive || break_lock
            wait_for_lock
        done
        trap 'rm -f "$state/owner"' EXIT
    fi
    rm -f "$state"/*.part
}

# Whether the process $owner is there, in this boot.
alive() { [ "${owner#* }" = "$boot_now" ] && [ -d "/proc/${owner%% *}" ]; }

# Of an owner that is no more; moved away first, as another process may have done the same meanwhile.
break_lock() {
    mv "$state/owner" "$state/owner.$$" 2>/dev/null || return
    taken=$(ls -l "$state/owner.$$") taken=${taken##*-> }
    [ "$taken" = "$owner" ] || ln -s "$taken" "$state/owner"
    rm -f "$state/owner.$$"
}

wait_for_lock() {
    tries=$((tries + 1))
    [ "$tries" -lt 50 ] || die "another deadbeat is changing settings (its journal: $state)"
    sleep 0.1 2>/dev/null || sleep 1
}

# Numbers of the records, first to last -> $records; that of the last file of any -> $last
list() {
    records='' last=0
    for each in "$state"/[0-9][0-9][0-9][0-9][0-9][0-9]*; do
        [ -e "$each" ] || continue
        name=${each##*/}
        case $name in ??????) records="$records $name" ;; esac
        name=${name%%.*}
        while :; do case $name in 0?*) name=${name#0} ;; *) break ;; esac; done
        last=$name
    done
}

to_disk() {
    # shellcheck disable=SC2086  numbers
    set -- $1
    files=''
    for each; do files="$files $each"; done
    # shellcheck disable=SC2086
    (cd "$state" && sync $files . .. 2>/dev/null) || sync
}

# $1 session, $2 reason, $3 root, $4 patterns of values to keep; then path, form, value of each
apply() {
    session=$1 reason=$2 root=$3 patterns=$4
    shift 4
    boot_of "$root"
    time=$(date -u +%Y-%m-%dT%H:%M:%SZ)
    list
    todo=''
    keep_snapshot
    while [ $# -gt 2 ]; do
        path=$1 form=$2 want=$3 file=$root$1
        shift 3
        journal && todo="$todo $record"
    done
    if [ -n "$todo" ]; then to_disk "$todo $snapshots"; else forget_snapshot; fi
    for record in $todo; do change "$state/$record"; done
}

keep_snapshot() {
    snapshots=''
    [ -n "$patterns" ] || return
    snapshots=snapshot.$session
    set -f # below the root they are matched, not here
    for each in $patterns; do
        set +f
        for one in "$root"$each; do
            [ -f "$one" ] && fetch "$one" && tell "$one" "$now"
        done
    done > "$state/$snapshots"
}

forget_snapshot() { [ -z "$snapshots" ] || rm -f "$state/$snapshots"; }

journal() {
    [ -e "$file" ] || { tell skipped "$path" '' "$want" 'not on this machine'; return 1; }
    fetch "$file" || { tell skipped "$path" '' "$want" "cannot be read: $why"; return 1; }
    meaning "$form" "$now"
    found=$meant
    meaning "$form" "$want"
    if [ "$found" = "$meant" ]; then tell already "$path" "$now" "$want" ''; return 1; fi
    case $(ls -ld "$file") in
    ??-??-??-*) tell skipped "$path" "$now" "$want" 'read-only on this machine'; return 1 ;;
    esac
    last=$((last + 1))
    record=$(printf %06d "$last")
    {
        printf '%s\n' "$version" "$session" "$boot_now" "$time" "$root" "$path" "$form" "$want" \
            "$reason" "$snapshots" && cat "$file"
    } > "$state/$record.part" && mv "$state/$record.part" "$state/$record" && return 0
    rm -f "$state/$record.part"
    [ -n "$todo" ] || forget_snapshot
    die "the journal in $state cannot be written; nothing was changed"
}

change() {
    read_record "$1" || die "$1 is damaged"
    # Whoever is killed between the writing and the reading back has no other witness of what the
    # kernel made of the value.
    if ! (: > "$1.applying") 2>/dev/null; then
        drop "$1"
        tell refused "$path" "$old" "$want" "the journal in $state cannot be written"
        return
    fi
    why=$({ printf '%s\n' "$want" | cat > "$file"; } 2>&1)
    why=${why##*: }
    fetch "$file"
    meaning "$form" "$now"
    found=$meant
    meaning "$form" "$want"
    if [ "$found" = "$meant" ]; then
        printf %s "$now" > "$1.new.part" && mv "$1.new.part" "$1.new"
        tell applied "$path" "$old" "$want" ''
    elif [ "$now" = "$old" ]; then
        drop "$1"
        tell refused "$path" "$old" "$want" "${why:-the kernel kept its own value}"
    else
        said="the kernel made it $now${why:+ ($why)}"
        put_back "$1" >/dev/null || said="$said, and it would not go back: it stays in the journal"
        tell refused "$path" "$old" "$want" "$said"
    fi
}

# The record $1 as read -> its old bytes are there again, and it is gone; else false
put_back() {
    # In a shell of its own: where the disk is full the way back goes on without the mark.
    (: > "$1.reverting") 2>/dev/null
    if [ "$form" = selected ]; then
        meaning selected "$old"
        why=$({ printf '%s\n' "$meant" | cat > "$file"; } 2>&1)
        fetch "$file"
    fi
    # A made-up tree has no kernel that would write the rest of the line.
    if [ "$form" != selected ] || [ "$now" != "$old" ]; then
        why=$({ kept "$1" > "$file"; } 2>&1)
        fetch "$file"
    fi
    why=${why##*: }
    if [ "$now" = "$old" ]; then
        tell restored "$path" "$old" "$now" ''
        drop "$1"
    else
        tell failed "$path" "$old" "$now" "${why:-it holds $now}"
        return 1
    fi
}

# Whether what is there now ($now) came from the record $1.
ours() {
    if [ -e "$1.new" ]; then
        new=$(cat "$1.new"; printf x)
        [ "$now" = "${new%x}" ] && return 0
    elif [ -e "$1.applying" ]; then
        return 0
    else
        meaning "$form" "$now"
        found=$meant
        meaning "$form" "$want"
        [ "$found" = "$meant" ] && return 0
        [ -z "$now" ] && return 0 # a file that was cut off while it was written
    fi
    [ -e "$1.reverting" ] || return 1
    meaning "$form" "$old"
    plain "$now"
    [ -z "$now" ] || [ "$plain" = "$meant" ]
}

volatile() { case $path in /proc/* | /sys/*) return 0 ;; *) return 1 ;; esac; }

# How the record $1 stands -> $stand: pending, applied, back, reset, changed, gone or unread
judge() {
    boot_of "$root"
    new_boot=
    [ "$boot" = "$boot_now" ] || ! volatile || new_boot=yes
    stand=
    if ! fetch "$file"; then
        now='' stand=gone
        if [ -e "$file" ]; then stand=unread; elif [ -n "$new_boot" ]; then stand=reset; fi
    elif [ -n "$new_boot" ]; then stand=reset
    elif [ "$now" = "$old" ]; then stand=back
    elif ! ours "$1"; then stand=changed
    elif [ -e "$1.new" ]; then stand=applied
    else stand=pending
    fi
}

# $1 "force" or "-", $2 session or nothing
revert() {
    force=$1 only=$2
    list
    backwards=''
    for each in $records; do backwards="$each $backwards"; done
    moved=''
    for record in $backwards; do
        one="$state/$record"
        read_record "$one" || { tell damaged "$one" '' '' 'no record of this version'; continue; }
        [ -z "$only" ] || [ "$session" = "$only" ] || continue
        judge "$one"
        revert_one "$one"
        case " $moved " in *" $snapshots "*) ;; *) moved="$moved $snapshots" ;; esac
    done
    for each in $moved; do compare_snapshot "$state/$each"; done
}

revert_one() {
    case $stand in
    applied | pending) put_back "$1" && return ;;
    back) drop "$1"; tell back "$path" "$old" "$now" 'it held its old value already' ;;
    reset)
        if [ "$force" = force ] && [ -n "$now" ] && [ "$now" != "$old" ]; then put_back "$1"; return; fi
        drop "$1"
        tell reset "$path" "$old" "$now" 'the machine was restarted since; left as the restart made it' ;;
    changed)
        if [ "$force" = force ]; then put_back "$1"; return; fi
        tell changed "$path" "$old" "$now" 'another program has changed it since; left alone' ;;
    unread) tell failed "$path" "$old" '' "$why" ;;
    gone)
        if [ "$force" = force ]; then drop "$1"; fi
        tell gone "$path" "$old" '' "$why" ;;
    esac
}

# Values kept in $1 that are no longer what they were; the file goes with the last of its records.
compare_snapshot() {
    [ -f "$1" ] || return
    while IFS=$separator read -r path was; do
        fetch "$path" && plain "$now" && [ "$plain" != "$was" ] &&
            tell moved "$path" "$was" "$now" 'not as it was before'
    done < "$1"
    list
    for record in $records; do
        read_record "$state/$record" && [ "$state/$snapshots" = "$1" ] && return
    done
    rm -f "$1"
}

show() {
    if [ -e "$state" ] && { [ ! -r "$state" ] || [ ! -x "$state" ]; }; then
        die "the journal in $state cannot be read"
    fi
    [ ! -e "$state" ] || guarded reading
    list
    for record in $records; do
        one="$state/$record"
        read_record "$one" || { [ -e "$one" ] && tell damaged "$one"; continue; }
        judge "$one"
        tell "$stand" "$path" "$old" "$now" "$reason" "$want" "$session" "$time" "$root"
    done
}

case $verb in
apply)
    # $1: this script, kept beside the journal for whoever has only a shell
    lock
    printf %s "$1" > "$state/journal.sh.part" && mv "$state/journal.sh.part" "$state/journal.sh" ||
        die "the journal in $state cannot be written"
    shift
    apply "$@" ;;
revert)
    if [ -d "$state" ]; then
        lock
        revert "${1:--}" "$2"
    fi ;;
status) show ;;
*) die "unknown: $verb (status or revert)" ;;
esac
tell end
