# What the steps use. The values found are kept in $STATE before the first of
# them is changed; undo needs nothing else.
STATE=${PLUMB_STATE:-/var/lib/plumb-playbook/@ID@}
FORCE=${FORCE:-}
FAILED=0
MEMORY=
SWAP=

say() { printf '%s\n' "$*"; }

die() {
	printf 'error: %s\n' "$*" >&2
	printf 'hint: sh %s undo takes back what was done\n' "$0" >&2
	exit 3
}

# problem notes what could not be undone, and goes on.
problem() {
	printf 'not undone: %s\n' "$*" >&2
	FAILED=1
}

# begin makes this process the only one that works on $STATE.
begin() {
	umask 077
	mkdir -p "$STATE/files"
	ours_alone "$STATE/files/x" || die "$STATE can be changed by others: $OTHERS. Set PLUMB_STATE to a directory that only $(id -un) can write to"
	if command -v flock >/dev/null; then
		exec 9>"$STATE/lock"
		flock -n 9 || { printf 'error: another one of this script runs\n' >&2; exit 3; }
	fi
}

# on_disk makes a file durable.
on_disk() { sync "$@" 2>/dev/null || sync; }

# words trims blanks at both ends.
words() {
	printf '%s\n' "$1" | awk '{ t = t (NR > 1 ? "\n" : "") $0 } END { gsub(/^[ \t\r\n]+|[ \t\r\n]+$/, "", t); print t }'
}

# or_none gives a text, or (none) for no text.
or_none() {
	if [ -n "$(words "$1")" ]; then printf '%s\n' "$1"; else printf '(none)\n'; fi
}

# content gives what a file of the kernel holds.
content() {
	if [ -e "$1" ]; then cat "$1"; else printf '(none)\n'; fi
}

# chosen gives the word in brackets.
chosen() { sed 's/^[^[]*\[\([^]]*\)\].*/\1/'; }

# matched gives what the sed script of an expression finds last.
matched() { or_none "$(sed -nE "$1" | tail -n 1)"; }

# cells gives the answer of a client, in which NULL is (none).
cells() {
	or_none "$(printf '%s\n' "$1" | awk -F '\t' -v OFS='\t' '{ for (i = 1; i <= NF; i++) if ($i == "NULL") $i = "(none)"; print }')"
}

# sql quotes a text for SQL; sql_mysql for MySQL and MariaDB.
sql() { printf "'%s'" "$(printf '%s' "$1" | sed "s/'/''/g")"; }
sql_mysql() { printf "'%s'" "$(printf '%s' "$1" | sed -e "s/'/''/g" -e 's/\\/\\\\/g')"; }

# owned runs a client as the owner of a server's socket, when root calls it.
owned() {
	socket=$1
	shift
	owner=$(stat -L -c %U "$socket" 2>/dev/null || printf root)
	if [ "$(id -u)" = 0 ] && [ "$owner" != root ]; then
		(cd / && runuser -u "$owner" -- "$@")
	else
		"$@"
	fi
}

# state reads the state of a switch.
state() {
	read_now=$("look_$1") || return 1
	words "$read_now"
}

# reach waits for a state, at most so many seconds; the last one is in $now.
reach() {
	waited=0
	while now=$(state "$1") || return 1; [ "$now" != "$2" ] && [ "$waited" -lt "$3" ]; do
		sleep 1
		waited=$((waited + 1))
	done
}

# keep writes a text down, once.
keep() {
	if [ ! -e "$STATE/$1" ]; then
		printf '%s\n' "$2" >"$STATE/$1.new"
		on_disk "$STATE/$1.new"
		mv "$STATE/$1.new" "$STATE/$1"
	fi
}

# turn brings a switch to a state: number, seconds that it may take, the state,
# and those that come after it in the same place.
turn() {
	id=$1 patience=$2 wanted=$3
	shift 2
	found=$(state "$id") || die "step $id: its state cannot be read"
	for later in "$@"; do
		if [ "$found" = "$later" ]; then
			say "    is $found already"
			return 0
		fi
	done
	keep "$id.before" "$found"
	if [ -n "$MEMORY" ]; then enough_memory; fi
	pages=$(swapped)
	"do_$id" || die "step $id: it could not be set"
	reach "$id" "$wanted" "$patience" || die "step $id: it cannot be read back"
	if [ "$now" = "$found" ]; then
		die "step $id: it did not take $wanted: it is still $found"
	fi
	rm -f "$STATE/$id.after"
	keep "$id.after" "$now"
	say "    $found -> $now"
	if [ -n "$MEMORY" ]; then enough_memory; fi
	if [ "$SWAP" = 1 ] && [ "$(swapped)" != "$pages" ]; then die "step $id: pages were swapped meanwhile"; fi
}

# watched is a turn during which so many bytes of memory must stay available,
# and with a 1 no page may be swapped.
watched() {
	MEMORY=$1 SWAP=$2
	shift 2
	"$@"
	MEMORY='' SWAP=''
}

# turn_back brings a switch back to the state found: number, seconds.
turn_back() {
	if [ ! -e "$STATE/$1.before" ]; then return 0; fi
	found=$(cat "$STATE/$1.before")
	now=$(state "$1") || { problem "step $1: its state cannot be read"; return 0; }
	if [ "$now" != "$found" ]; then
		if [ -z "$FORCE" ] && [ -e "$STATE/$1.after" ] && [ "$now" != "$(cat "$STATE/$1.after")" ]; then
			problem "step $1 was left as $(cat "$STATE/$1.after") and is $now: somebody changed it since. FORCE=1 takes it back too"
			return 0
		fi
		"undo_$1" "$found" || { problem "step $1: it could not be set back to $found"; return 0; }
		reach "$1" "$found" "$2" || { problem "step $1: it cannot be read back"; return 0; }
		if [ "$now" != "$found" ]; then
			problem "step $1 did not take $found back: it is $now"
			return 0
		fi
		say "step $1 is $found again"
	fi
	rm -f "$STATE/$1.before" "$STATE/$1.after"
}

# enough_memory stops when fewer bytes than $MEMORY are available.
enough_memory() {
	if ! awk -v least="$MEMORY" '$1 == "MemAvailable:" && $2 * 1024 < least { exit 1 }' /proc/meminfo; then
		die "less than $MEMORY bytes of memory are available"
	fi
}

# swapped counts the pages swapped in and out since boot.
swapped() { awk '$1 == "pswpin" || $1 == "pswpout" { n += $2 } END { printf "%.0f", n }' /proc/vmstat; }

# really gives the file that a link leads to.
really() {
	if [ -L "$1" ]; then readlink -f "$1"; else printf '%s\n' "$1"; fi
}

# AS is the user as whom files are read and written, "" for the one who runs
# this; ALLOW is his number.
AS=
ALLOW=

# as runs a command as that user.
as() {
	if [ -n "$AS" ]; then (cd / && runuser -u "$AS" -- "$@"); else "$@"; fi
}

# into writes the standard input into a file.
into() { as tee "$1" >/dev/null; }

# root_or_me tells whether a user is root or the one who runs this, or as whom
# this is done.
root_or_me() { [ "$1" = 0 ] || [ "$1" = "$(id -u)" ] || [ "$1" = "$ALLOW" ]; }

# ours_alone tells whether nobody else can put a link in the way to a file or
# in its place: then no directory on the way is another's or open to others. In
# one such as /tmp, where each can remove his own only, directories may lie. What
# is wrong is in $OTHERS.
ours_alone() {
	OTHERS=$1
	if [ -L "$1" ] && ! root_or_me "$(stat -c %u "$1")"; then return 1; fi
	at=$(dirname "$1") sticky=0
	while :; do
		OTHERS=$at
		if [ -L "$at" ] && ! root_or_me "$(stat -c %u "$at")"; then return 1; fi
		if [ -e "$at" ]; then
			bits=$(stat -L -c %a "$at")
			root_or_me "$(stat -L -c %u "$at")" || return 1
			if [ $((0$bits & 022)) != 0 ] && [ $((0$bits & sticky)) = 0 ]; then return 1; fi
			sticky=01000
		fi
		case $at in
		/ | .) return 0 ;;
		esac
		at=$(dirname "$at")
	done
}

# is_safe tells whether a file, and what it may be a link to, can be changed.
is_safe() { ours_alone "$1" && ours_alone "$(really "$1")" && ours_alone "$(readlink -f "$(dirname "$1")")/x"; }

# may_edit tells whether a file can be edited, and sets as whom. In a directory
# of another user, as PostgreSQL's in Debian's /etc is, root works as that user:
# links that he put there then lead to nothing but what is his own.
may_edit() {
	AS='' ALLOW=''
	if is_safe "$1"; then return 0; fi
	owner=$(stat -c %u "$(dirname "$1")" 2>/dev/null) || return 1
	if [ "$(id -u)" != 0 ] || { [ -e "$1" ] && [ "$(stat -L -c %u "$1")" != "$owner" ]; }; then return 1; fi
	ALLOW=$owner
	if is_safe "$1"; then AS=$(id -un "$owner") || return 1; fi
	ALLOW=''
	[ -n "$AS" ]
}

# place gives where a file is kept.
place() { printf '%s/files/%s\n' "$STATE" "$(printf '%s' "$1" | sed -e 's/_/__/g' -e 's,/,_,g')"; }

sum() { as cat "$1" | sha256sum | cut -d ' ' -f 1; }

# as_found tells whether a file is as it was kept.
as_found() {
	if [ -e "$kept.none" ]; then [ ! -e "$1" ]; else as cat "$1" | cmp -s - "$kept.before"; fi
}

# found_or_left tells whether a file is as it was found, or as it was left here.
found_or_left() {
	as_found "$1" || { [ -e "$1" ] && grep -q -s -x "$(sum "$1")" "$kept.sums"; }
}

# change edits a file: file, mode of a new one, its first lines, and what makes
# the new text of the old one.
change() {
	may_edit "$1" || die "$1 is not edited: others can change $OTHERS, and lead $(id -un) to any file. Edit it by hand, or run this as the owner"
	(umask 022 && as mkdir -p "$(dirname "$1")")
	file=$(really "$1") mode=$2 head=$3
	shift 3
	kept=$(place "$file")
	if [ ! -e "$kept.before" ] && [ ! -e "$kept.none" ]; then found "$file"; fi
	if [ -z "$FORCE" ] && ! found_or_left "$file"; then
		die "$file was changed since this script edited it. Undo first; or FORCE=1"
	fi
	if [ -e "$file" ]; then as cat "$file" >"$STATE/old"; else printf '%s' "$head" >"$STATE/old"; fi
	"$@" <"$STATE/old" >"$STATE/new" || unedited "$file"
	if [ -e "$file" ] && cmp -s "$STATE/old" "$STATE/new"; then
		rm -f "$STATE/old" "$STATE/new"
		say "    $file holds it already"
		return 0
	fi
	sum_new >>"$kept.sums"
	on_disk "$kept.sums"
	replace "$file" "$STATE/new" "$mode" || die "$file cannot be written"
	rm -f "$STATE/old" "$STATE/new"
	say "    $file is edited"
}

sum_new() { sha256sum <"$STATE/new" | cut -d ' ' -f 1; }

# found keeps a file as it was found, with its owner and mode, or that there is none.
found() {
	if [ -e "$1" ]; then
		if [ -z "$AS" ]; then
			cp -p "$1" "$kept.new"
		else
			as cat "$1" >"$kept.new"
			chmod "$(as stat -L -c %a "$1")" "$kept.new"
		fi
		on_disk "$kept.new"
		mv "$kept.new" "$kept.before"
	else
		: >"$kept.none"
		on_disk "$kept.none"
	fi
}

# replace puts a text in the place of a file, at once or not at all: file, the
# text's, and the mode where there is no file whose owner and mode to keep.
replace() {
	beside "$1"
	if [ -e "$1" ]; then
		as cp -p "$1" "$next" || return 1
	else
		if [ -z "$AS" ]; then cp -p "$2" "$next"; fi
		as chmod "$3" "$next" || return 1
	fi
	into "$next" <"$2" || return 1
	on_disk "$next"
	as mv "$next" "$1" || return 1
	if [ -z "$AS" ] && command -v restorecon >/dev/null; then restorecon "$1" || :; fi
}

# beside makes the file in which a new text is written, next to the old one, and
# removes what one that was killed left. Its name is in $next.
beside() {
	as rm -f "$1".plumb-new.*
	next=$(as mktemp "$1.plumb-new.XXXXXX") || die "$(dirname "$1") cannot be written to"
}

unedited() {
	rm -f "$STATE/old" "$STATE/new"
	die "$1 is not written so that this script could edit it: set the value there by hand"
}

# change_back restores a file, unless somebody changed it since.
change_back() {
	file=$(really "$1")
	kept=$(place "$file")
	if [ ! -e "$kept.before" ] && [ ! -e "$kept.none" ]; then return 0; fi
	if ! may_edit "$1"; then
		problem "$file: others can change $OTHERS, and lead $(id -un) to any file. As it was before: $(ls "$kept.before" "$kept.none" 2>/dev/null)"
		return 0
	fi
	if ! as_found "$file"; then
		if [ -z "$FORCE" ] && ! found_or_left "$file"; then
			problem "$file was changed since by somebody. As it was before: $(ls "$kept.before" "$kept.none" 2>/dev/null). FORCE=1 restores that"
			return 0
		fi
		if [ -e "$kept.none" ]; then
			as rm -f "$file" || { problem "$file cannot be removed"; return 0; }
		else
			replace "$file" "$kept.before" "$(stat -c %a "$kept.before")" || { problem "$file cannot be written"; return 0; }
		fi
		say "$file is as it was"
	fi
	rm -f "$kept.before" "$kept.none" "$kept.sums"
}

# line and yaml write the standard input out with one value set.
line() { SECTION=$1 BEFORE=$2 VALUE=$3 RAW=$4 LINE=$5 awk "$LINE_AWK"; }
yaml() { KEY=$1 RAW=$2 awk "$YAML_AWK"; }
