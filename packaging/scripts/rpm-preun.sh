
# 0: removed; 1: another version takes its place. rpm keeps what it did not install.
[ "$1" = 0 ] || exit 0

now=$(busy)
[ -z "$now" ] || refuse "is not removed: it is at work" "$now" "end what is listed, then remove it"

recorded || exit 0
keeping "$(asked)"
