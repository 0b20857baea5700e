# $1 where to, $2 what looks, $3 after how many seconds, $4 how often at most, until it sees any.
# A sleep that knows whole seconds alone waits one.
for try in $(seq "$4"); do
    sleep "$3" 2>/dev/null || sleep 1
    sh -c "$2" >"$1"
    [ -s "$1" ] && exit 0
done
