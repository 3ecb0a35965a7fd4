package point

import (
	"context"
	"fmt"

	"plumb/internal/host"
	"plumb/internal/protect"
)

// script makes a data directory ready for its first start on its own. It runs as the server's
// user, and changes things only by names in directories that it has entered and that
// are where they should be: a link that its user put somewhere leads nowhere.
const script = `set -efu
exec 2>&1
umask 077
data=$1 run=$2 keep=$3 major=$4 signal=$5 text=$6 label=$7 conf=$8 closed=$9
shift 9
open=$1
shift
` + atScript + `put() {
	rm -f -- "$1"
	set -C
	printf %s "$2" > "$1"
	set +C
}
at "$run"
[ ! -e neutral ] || case $(cat neutral) in done | "$major") exit 0 ;; esac
put postgresql.conf "$conf"
put closed.conf "$closed"
put open.conf "$open"
rm -f source.pass
set -C
cat > source.pass
set +C
sync postgresql.conf closed.conf open.conf source.pass

at "$data"
[ -f PG_VERSION ] || fail "it holds no data of PostgreSQL: is the copy mounted?"
read -r version < PG_VERSION
[ "$version" = "$major" ] || fail "it holds data of PostgreSQL $version, and the server is $major"
if [ "$keep" = yes ]; then
	[ ! -e standby.signal ] && [ ! -e recovery.conf ] || fail "it is that of a standby: roll back its primary"
	mkdir plumb.replay plumb.replay/wal
	[ ! -e postgresql.auto.conf ] || mv -T postgresql.auto.conf plumb.replay/auto.conf
fi
rm -f postmaster.pid postmaster.opts current_logfiles recovery.signal standby.signal recovery.conf backup_label tablespace_map
if [ "$keep" != yes ]; then
	rm -f postgresql.auto.conf postgresql.auto.conf.tmp
	find -P ./pg_replslot -xdev -mindepth 1 -delete
fi
relative=
` + linkScript + `[ -z "$signal" ] || put "$signal" "$text"
[ -z "$label" ] || put backup_label "$label"
at "$run"
put neutral "$major"`

// atScript are functions of the scripts here.
const atScript = `fail() { echo "$*"; exit 1; }
at() {
	cd -P -- "$1"
	[ "$(pwd -P)" = "$1" ] || fail "$1 is not there: it leads to $(pwd -P)"
}
`

// linkScript, in the data directory, leads the links of a server to where the copy has what they mean, and refuses any other link.
const linkScript = `known=' '
while [ $# -gt 0 ]; do
	case $1 in
	pg_tblspc/*) at "$data/pg_tblspc" ;;
	esac
	[ -L "${1##*/}" ] || fail "$1 is no longer a link"
	[ -d "$2" ] || fail "$2 is missing in the copy"
	[ "$(cd -P -- "$2" && pwd -P)" = "$2" ] || fail "$2 leads out of the copy"
	to=$2
	[ -z "$relative" ] || to=$(realpath --relative-to=. -- "$2")
	ln -s -f -n -T -- "$to" "${1##*/}"
	at "$data"
	known="$known$1 "
	shift 2
done
others=$(find -P . -type l ! -name '*.crt' ! -name '*.key' ! -name '*.pem' ! -name '*.conf' ! -name log ! -name pg_log -printf '%P\n')
IFS='
'
for link in $others; do
	case "$known" in
	*" $link "*) ;;
	*) fail "the link $link leads to $(readlink -- "$link"): it was not there when the server was looked at, or Plumb does not know it" ;;
	esac
done
unset IFS
`

// relinkScript does that alone, for data that is to be where the server had it in the end: the links lead there from here as well. Who reads
// a pipe would wait for ever.
const relinkScript = `set -efu
exec 2>&1
data=$1 relative=yes
shift
` + atScript + `at "$data"
pipe=$(find -P . -type p -printf '%P' -quit)
[ -z "$pipe" ] || fail "$pipe is a pipe"
` + linkScript

// Relink leads the links of a server's data, which was restored with all that they lead to below a root, to what was restored.
func Relink(ctx context.Context, d host.Streamer, sv protect.Server, root string) error {
	c := protect.Copy{Server: sv, Root: root}
	argv := append(sv.As(d.About().Root), "sh", "-c", relinkScript, "sh", c.In(sv.Dir("data")))
	if err := typed(ctx, d, append(argv, linksOf(c)...), ""); err != nil {
		return fmt.Errorf("lead the links of the restored data to what was restored: %w", err)
	}
	return nil
}

// linksOf gives the links of a copy, each with where it is to lead.
func linksOf(c protect.Copy) (all []string) {
	for _, dir := range c.Server.Dirs {
		if dir.Link != "" {
			all = append(all, dir.Link, c.In(dir.Path))
		}
	}
	return all
}
