package pitr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/archive"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/moment"
	"plumb/internal/engine/postgres"
	"plumb/internal/host"
)

// Ready implements moment.Engine. All that is needed is tar: the server is started by a person.
func (Engine) Ready(context.Context, host.Launcher, manifest.Manifest, moment.At) error { return nil }

// Unpack implements moment.Engine.
func (Engine) Unpack(dir string) []string {
	return []string{"tar", "--extract", "--file=-", "--directory=" + dir, "--no-same-owner", "--preserve-permissions"}
}

// aside is where the log that is replayed lies, in the data directory: only the server's user reads there.
const aside = "plumb.wal"

// fromAside is how the server gets it.
const fromAside = "cp " + aside + "/%f %p"

// Finish implements moment.Engine.
func (Engine) Finish(ctx context.Context, d host.Launcher, s archive.Shelf, w *moment.Way, a moment.At) error {
	in, ok := w.Inner.(inner)
	if !ok {
		return errors.New("it was planned by another")
	}
	if a.Proof {
		return fetchAll(ctx, d, s.After(in.base.id), in.pieces, a, "pg_wal")
	}
	recovers, after := alone(), afterOwn
	if !a.Alone {
		if err := in.fetch(ctx, d, s, a); err != nil {
			return err
		}
		recovers, after = recovery(w.Last, in.timeline), afterLog
	}
	notes, err := Settle(ctx, d, a, in.base.major, recovers)
	if err != nil {
		return err
	}
	w.Notes, w.Next = append(w.Notes, notes...), Next(a, in.base.major, after, "base")
	return nil
}

// What a restored server does once it is started.
const (
	afterOwn = "it recovers with the log that is in it, and then continues on a timeline of its own"
	afterLog = "it replays the log up to the moment, and then continues on a timeline of its own; plumb.wal can go when it has"
)

// fetch brings all that is replayed, and the histories.
func (in inner) fetch(ctx context.Context, d host.Launcher, s archive.Shelf, a moment.At) error {
	// What the server that was backed up replayed once lies there, where nobody took it away.
	if err := a.Sh(ctx, d, nil, nil, `cd -P -- "$1" && { [ ! -e plumb.wal ] || find -P ./plumb.wal -xdev -delete; } && mkdir plumb.wal`, a.Data); err != nil {
		return err
	}
	if err := fetchAll(ctx, d, s.After(in.base.id), in.pieces, a, aside); err != nil {
		return err
	}
	// It opens a timeline that is newer than all of them.
	return fetchAll(ctx, d, s, slices.Collect(maps.Values(in.w.histories)), a, aside)
}

// Next tells a person what is left to do with what was restored of a base, a point or whatever it is called, and what it does then. It
// answers nobody while it recovers, and pg_ctl gives up after a minute by itself. A standby with its settings would stop where it did, and
// answer nobody.
func Next(a moment.At, major int, after, of string) []string {
	next := []string{fmt.Sprintf("start it as its user, with the programs of PostgreSQL %d: pg_ctl -D %s -t 86400 start", major, host.ShellWord(a.Dir)), after,
		"before a standby is made of it, remove hot_standby and the settings of the recovery from postgresql.auto.conf: a standby has a copy of them"}
	if !a.Replace {
		next = append(next, "postgresql.auto.conf keeps it from the network, from archiving and from replication; the one of the "+of+" is postgresql.auto.conf.before")
	}
	return next
}

// Settle makes a base that lies in a directory ready for its first start, in which it recovers by some settings. Unless the
// one that was backed up is gone, the copy is kept from reaching others. The notes say what a person must look at.
func Settle(ctx context.Context, d host.Streamer, a moment.At, major int, recovery []postgres.Assignment) (notes []string, err error) {
	return settle(ctx, d, a, major, recovery, neutral())
}

// settle does that with some settings that keep a copy from others.
func settle(ctx context.Context, d host.Streamer, a moment.At, major int, recovery, neutral []postgres.Assignment) (notes []string, err error) {
	var said bytes.Buffer
	label := "yes"
	if a.Root != "" {
		label = "no"
	}
	replace := "no"
	if a.Replace {
		replace = "yes"
	}
	if err := a.Sh(ctx, d, nil, &said, script, a.Data, strconv.Itoa(major), replace, postgres.Lines(append(plainFor(recovery), recovery...)), postgres.Lines(neutral), label); err != nil {
		return nil, err
	}
	for line := range strings.Lines(said.String()) {
		notes = append(notes, strings.TrimSpace(line))
	}
	return notes, nil
}

// fetchAll writes files of the log into a directory of the base, in the place of those that the base has.
func fetchAll(ctx context.Context, d host.Launcher, s archive.Shelf, pieces []archive.Piece, a moment.At, dir string) error {
	s, end := s.Ahead(ctx, pieces)
	defer end()
	for _, p := range pieces {
		e, err := s.Entry(ctx, p)
		if err != nil {
			return err
		}
		write := func(ctx context.Context, out io.Writer) error { return s.Read(ctx, e, out) }
		if err := a.Pour(ctx, d, write, `set -C; cd -P -- "$1" && rm -f -- "$2" && cat > "$2"`, a.Data+"/"+dir, nameOf(p)); err != nil {
			return err
		}
	}
	return nil
}

// recovery are the settings by which it ends at the moment: behind the last record that is replayed.
func recovery(last string, timeline int) []postgres.Assignment {
	return []postgres.Assignment{{"restore_command", fromAside}, {"recovery_target_timeline", strconv.Itoa(timeline)}, {"recovery_target_lsn", last},
		{"recovery_target_inclusive", "on"}, {"recovery_target_action", "promote"}, {"primary_conninfo", ""}, {"primary_slot_name", ""}}
}

// alone are those by which it ends where the base was whole, with the log that is in the base.
func alone() []postgres.Assignment {
	return []postgres.Assignment{{"restore_command", "false"}, {"recovery_target_timeline", "current"}, {"recovery_target", "immediate"}, {"recovery_target_action", "promote"}, {"primary_conninfo", ""}, {"primary_slot_name", ""}}
}

// plainFor are those by which nothing that the base says of an earlier recovery, or as that of a standby, has a part in this one. Two
// targets would keep the server from starting, and it would wait as long as a standby is to lag behind. Without hot_standby it replays what
// a server wrote that had more connections than the base says: with it that ends or pauses a recovery (CheckRequiredParameterValues in
// xlogrecovery.c). They come first, because emptying a target behind another is an error as well.
func plainFor(recovery []postgres.Assignment) (all []postgres.Assignment) {
	for _, one := range []postgres.Assignment{{"recovery_target", ""}, {"recovery_target_name", ""}, {"recovery_target_time", ""}, {"recovery_target_xid", ""}, {"recovery_target_lsn", ""},
		{"recovery_min_apply_delay", "0"}, {"hot_standby", "off"}} {
		if !slices.ContainsFunc(recovery, func(set postgres.Assignment) bool { return set[0] == one[0] }) {
			all = append(all, one)
		}
	}
	return all
}

// neutral are those by which a copy would not reach others, or be reached. A standby's command that cleans its archive up would remove what
// others still need.
func neutral() []postgres.Assignment {
	return []postgres.Assignment{{"listen_addresses", ""}, {"archive_mode", "off"}, {"archive_command", ""}, {"max_logical_replication_workers", "0"}, {"synchronous_standby_names", ""},
		{"external_pid_file", ""}, {"cluster_name", "restored by plumb"}, {"archive_cleanup_command", ""}, {"recovery_end_command", ""}}
}

// script makes a base ready for its first start. Nothing is written through links, which could lead to the configuration of a server that
// runs here. recovery.signal comes last: without it the server would take what it has for all.
const script = `set -efu
umask 077
data=$1 major=$2 replace=$3 recovery=$4 neutral=$5 label=$6
cd -P -- "$data"
[ "$(pwd -P)" = "$data" ] || { echo "it leads to $(pwd -P)" >&2; exit 1; }
[ -f PG_VERSION ] && [ -f global/pg_control ] || { echo "it holds no data of PostgreSQL" >&2; exit 1; }
if [ "$label" = yes ]; then
	[ -f backup_label ] || { echo "it is not a base backup of PostgreSQL" >&2; exit 1; }
else # a backup that had begun has no end in the log that is here
	rm -f backup_label tablespace_map
fi
read -r version < PG_VERSION
[ "$version" = "$major" ] || { echo "it holds data of PostgreSQL $version, and was taken for $major" >&2; exit 1; }
rm -f standby.signal recovery.signal postmaster.pid postmaster.opts
conf=postgresql.auto.conf
for f in $conf postgresql.conf pg_hba.conf pg_ident.conf; do
	[ -e "$f" ] || rm -f -- "$f" # a link that leads nowhere
done
[ ! -L $conf ] || { cp -- $conf $conf.own && mv -T -- $conf.own $conf; }
if [ "$replace" = yes ]; then
	[ -e $conf ] || : > $conf
	printf '\n# Written by Plumb for the recovery.\n%s' "$recovery" >> $conf
else
	[ ! -e $conf ] || mv -T -- $conf $conf.before
	printf '# Written by Plumb for this copy alone.\n%s%s' "$recovery" "$neutral" > $conf
	find -P ./pg_replslot -xdev -mindepth 1 -delete
fi
if [ ! -e postgresql.conf ]; then
	echo "the base has no postgresql.conf: it was kept elsewhere. An empty one was written, with a pg_hba.conf that lets users of this machine in by their names"
	echo "# The base had none." > postgresql.conf
	[ -e pg_hba.conf ] || echo "local all all peer" > pg_hba.conf
	[ -e pg_ident.conf ] || : > pg_ident.conf
elif grep -q -E '^[[:space:]]*(data_directory|hba_file|ident_file|include[a-z_]*)[[:space:]=]' postgresql.conf; then
	echo "postgresql.conf names files or directories elsewhere: look at it before the server is started"
fi
if [ "$replace" = no ] && grep -q -E "^[[:space:]]*shared_preload_libraries[[:space:]]*=[[:space:]]*'?[^'#[:space:]]" postgresql.conf; then
	echo "postgresql.conf preloads libraries, and some run jobs of their own (pg_cron): look at shared_preload_libraries before the copy is started"
fi
: > recovery.signal
sync -f .`
