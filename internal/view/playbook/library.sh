# The library: each function does one kind of act, says what it changed, and does nothing
# where all is as wanted. What it finds in neither state it refuses.

PATH=$PATH:/usr/sbin:/sbin # su leaves them out

say() { printf '%s\n' "$*"; } # as it is: some shells' echo takes \ for more
die() { say "$0: $*" >&2; exit 3; }

# change NAME: tells whether NAME may be changed now, and says so. What waits for a restart is
# owed one until it is done, whatever happens before.
change() {
	if [ "${PLUMB_DRY:-}" = 1 ]; then would=$owed; say "would change: $1"; return 1; fi
	[ -z "$owed" ] || : >"$owed"
	say "changing: $1"
}

unknown= # set once something could not be read

# unsure NAME WHAT: WHAT cannot be read, so that it is unknown whether NAME would be changed. Who applies is refused.
unsure() {
	[ "${PLUMB_DRY:-}" = 1 ] || die "cannot read a state: $2"
	unknown=1
	say "unknown: $1, which cannot be read"
}

# digest FILE: fails where it cannot be read.
digest() {
	[ -e "$1" ] || { echo none; return 0; }
	sum=$(sha256sum <"$1") && echo "${sum%% *}"
}

# state NAME LOOK ABOVE: reads a state into $now; (none) of what is not there. Who only shows cannot read yet what
# is in ABOVE, which an earlier act makes; what else cannot be read is unknown, and state fails.
state() {
	if ! now=$(eval "$2"); then
		if [ "${PLUMB_DRY:-}" != 1 ] || [ -z "$3" ] || [ -e "$3" ]; then unsure "$1" "$2"; return 1; fi
		now=
	fi
	now=$(printf '%s\n' "$now" | sed -e '1s/^[[:space:]]*//' -e '$s/[[:space:]]*$//')
	[ -n "$now" ] || now='(none)'
}

# among WORDS: of the lines those whose first word is one of these.
among() { awk -v "words=$*" 'BEGIN { n = split(words, all, " "); for (i = 1; i <= n; i++) w[all[i]] } $1 in w' | sort; }

# mounted PLACE: the type of what is uppermost at PLACE, as the kernel writes that, and its UUID, from its device itself, or else
# its source. Nothing where nothing is.
mounted() {
	kind=
	while read -r _ _ number _ point rest; do
		[ "$point" = "$1" ] || continue
		rest=${rest#* - } at=$number
		kind=${rest%% *} rest=${rest#* }
		source=${rest%% *}
	done </proc/self/mountinfo
	case $kind in
	'') return 0 ;;
	ext4) from=1128 ;;
	xfs) from=32 ;;
	btrfs) from=65568 ;;
	*) say "$kind $source"; return 0 ;;
	esac
	case $at in
	0:*) ;; # btrfs shows a number of its own
	*) [ "$(stat -L -c '%t:%T' -- "$source")" = "$(printf '%x:%x' "${at%:*}" "${at#*:}")" ] || return 1 ;;
	esac
	uuid=$(od -An -v -tx1 -j "$from" -N 16 -- "$source") || return 1
	say "$kind $(say "$uuid" | tr -d ' ' | sed -E 's/^(.{8})(.{4})(.{4})(.{4})(.{12})$/\1-\2-\3-\4-\5/')"
}

mysql_client() { if command -v mariadb >/dev/null; then mariadb --batch --raw --skip-column-names "$@"; else mysql --batch --raw --skip-column-names "$@"; fi; }
psql_client() { runuser -u postgres -- psql -X -q -A -t -F '	' -v ON_ERROR_STOP=1 "$@"; }

# edit FILE BEFORE AFTERWARDS AT BYTES MODE TEXT APPLY: in FILE, TEXT stands in place of BYTES bytes. Of
# the digests, the first of BEFORE is the one wanted; earlier edits, which are only shown, leave the others.
# APPLY is owed until it is done, also where the file is as wanted: an earlier run may have been killed before it.
edit() {
	file=$1
	unread=
	if [ -n "$8" ]; then unread=/run/plumb-unread-$(printf '%s' "$1 $8" | sha256sum | cut -c 1-26); fi
	if [ -L "$file" ]; then file=$(readlink -f -- "$file") || die "$1 is a link that leads nowhere"; fi
	now=$(digest "$file") || { unsure "$1" "$1"; return 0; }
	case " $3 " in *" $now "*) reread "$1" "$8"; return 0 ;; esac
	was=${2%% *}
	if [ "${PLUMB_DRY:-}" = 1 ]; then case " $2 " in *" $now "*) was=$now ;; esac; fi
	[ "$now" = "$was" ] || die "$1 is not as it was when this was written, nor as it shall be: write it anew"
	change "$1" || return 0
	dir=$(dirname -- "$file")
	mkdir -p -- "$dir"
	[ "$(stat -c %u -- "$dir")" = "$(id -u)" ] || die "$dir is another user's, who could put a link in the way of $1: plumb does that as him"
	new=$dir/.$(basename -- "$file").plumb-new
	rm -f -- "$new"
	if [ "$now" = none ]; then
		: >"$new"
		chmod "$6" "$new"
		printf '%s' "$7" >"$new"
	else
		cp -a -- "$file" "$new"
		{ head -c "$4" "$file" && printf '%s' "$7" && tail -c "+$(($4 + $5 + 1))" "$file"; } >"$new"
	fi
	now=$(digest "$new") || now=unreadable
	case " $3 " in *" $now "*) ;; *) rm -f -- "$new"; die "$1 would not become what was meant" ;; esac
	sync "$new"
	if [ -n "$unread" ]; then : >"$unread"; fi
	mv -f -- "$new" "$file"
	reread "$1" "$8"
}

# reread FILE APPLY: has FILE read again, where that is owed.
reread() {
	[ -n "$unread" ] && [ -e "$unread" ] || return 0
	change "what reads $1" || return 0
	eval "$2" || die "$1 is written, and this failed: $2"
	rm -f "$unread"
}

# switch NAME ABOVE LOOK FROM PATIENCE GUARD DO AFTER [BEYOND...]
switch() {
	name=$1 above=$2 look=$3 from=$4 patience=$5 guard=$6 do=$7 after=$8
	shift 8
	state "$name" "$look" "$above" || return 0
	before=$now
	for past in "$after" "$@"; do [ "$now" != "$past" ] || return 0; done
	[ -z "$from" ] || [ "$now" = "$from" ] || die "$name is no longer as the plan found it: $now"
	change "$name" || return 0
	if [ "$guard" -gt 0 ]; then
		[ "$(($(sed -n 's/^MemAvailable: *\([0-9]*\) kB$/\1/p' /proc/meminfo) * 1024))" -ge "$guard" ] || die "$name: too little memory is available"
	fi
	eval "$do" || die "$name: it could not be set"
	while state "$name" "$look" ''; [ "$now" != "$after" ] && [ "$patience" -gt 0 ]; do sleep 1; patience=$((patience - 1)); done
	[ "$now" != "$before" ] || die "$name did not take $after: it is still $now"
	[ "$now" = "$after" ] || say "$name took $now in place of $after"
}

# directory PATH MODE UID GID: what is mounted on it hides it, and was mounted once it was made.
directory() {
	if mountpoint -q -- "$1"; then return 0; fi
	if [ -d "$1" ] && [ ! -L "$1" ]; then
		[ "$3" -lt 0 ] || [ "$(stat -c '%u:%g' -- "$1")" = "$3:$4" ] || die "$1 is there already, and is another user's"
		[ "$(printf '%04d' "$(stat -c %a -- "$1")")" = "$2" ] || die "$1 is there already, with another mode than $2"
		return 0
	fi
	[ ! -e "$1" ] && [ ! -L "$1" ] || die "$1 is there already, and is no directory"
	change "$1" || return 0
	above=$(dirname -- "$1")
	[ -d "$above" ] || mkdir -m 0700 -- "$above" # that of plumb's journal, which no act makes
	new=$above/.${1##*/}.plumb-new # it is there at once as it shall be, whenever this is killed
	[ ! -d "$new" ] || rmdir -- "$new"
	mkdir -m 0700 -- "$new"
	[ "$3" -lt 0 ] || chown "$3:$4" -- "$new"
	chmod "$2" -- "$new"
	mv -T -- "$new" "$1"
}

# make_dataset NAME MARK DO
make_dataset() {
	if said=$(zfs list -H -o name "$1" 2>&1); then
		[ "$(zfs get -H -o value org.plumb:act "$1")" = "$2" ] || die "the dataset $1 is there already, and was not made by this"
		return 0
	fi
	case $said in *'does not exist'*) ;; *) unsure "$1" "the dataset $1: $said"; return 0 ;; esac
	change "$1" || return 0
	eval "$3" || die "$1 could not be made"
	[ "$(zfs get -H -o value org.plumb:act "$1")" = "$2" ] || die "$1 was to be made, and is another"
}

# make NAME LOOK KNOWN DO
make() {
	state "$1" "$2" '' || return 0
	case $now in *"$3"*) return 0 ;; esac
	[ "$now" = '(none)' ] || die "$1 is there already, and was not made by this"
	change "$1" || return 0
	eval "$4" || die "$1 could not be made"
	state "$1" "$2" ''
	case $now in *"$3"*) ;; *) die "$1 was to be made, and is $now" ;; esac
}

# restart WHAT DO: done where one is owed, and shown where one would be: a playbook, whose acts are shells of their own, tells by
# PLUMB_WOULD.
restart() {
	[ -e "$owed" ] || [ "${would:-${PLUMB_WOULD:-}}" = "$owed" ] || return 0
	change "$1" || return 0
	eval "$2" || die "$1 failed"
	rm -f "$owed"
}
