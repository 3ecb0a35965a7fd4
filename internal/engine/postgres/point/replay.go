package point

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"plumb/internal/engine/postgres"
	"plumb/internal/host"
	"plumb/internal/load"
	"plumb/internal/protect"
	"plumb/internal/protect/replay"
)

var _ replay.Recoverer = Engine{}

const restore = "cp plumb.replay/wal/%f %p"

// recovery are the settings of a recovery that ends on a timeline of its own. A recovery from
// a crash ends on the old one, and would write its WAL a second time.
func (n neutral) recovery() []postgres.Assignment {
	all := []postgres.Assignment{{"restore_command", restore}}
	if n.major >= 12 {
		all = append(all, []postgres.Assignment{{"recovery_target_timeline", "current"}, {"primary_conninfo", ""}, {"hot_standby", "off"}}...)
	}
	if n.c.Until != "" {
		all = append(all, []postgres.Assignment{{"recovery_target_lsn", n.c.Until}, {"recovery_target_inclusive", "on"}, {"recovery_target_action", "promote"}}...)
	}
	return all
}

// prepareScript gives a copy the histories of the timelines that there were, the WAL that it replays, and
// the file that makes its start a recovery.
const prepareScript = `set -efu
exec 2>&1
umask 077
cd -P -- "$1"
[ "$(pwd -P)" = "$1" ] || { echo "$1 leads to $(pwd -P)"; exit 1; }
for name in $2; do
	[ -e "pg_wal/$name" ] || printf '# this timeline was written before the server was rolled back\n' > "pg_wal/$name"
done
signal=$3 text=$4
shift 4
for name; do cp --reflink=auto -- "$name" "plumb.replay/wal/${name##*/}"; done
printf %s "$text" > "$signal"
sync -f .`

// Prepare implements replay.Recoverer.
func (Engine) Prepare(ctx context.Context, d host.Streamer, c *protect.Copy, w replay.Way, to replay.Target) error {
	c.Newest, c.Until = max(to.Newest, c.Position.Timeline, 1), w.Last
	n := neutral{c: *c, data: c.In(c.Server.Dir("data")), major: major(c.Server.Version)}
	err := n.sound()
	if err == nil {
		signal, text := "recovery.signal", ""
		if n.major < 12 {
			signal, text = "recovery.conf", postgres.Lines(n.recovery())
		}
		argv := append(c.Server.As(d.About().Root), "sh", "-c", prepareScript, "sh", n.data, n.histories(), signal, text)
		err = typed(ctx, d, append(argv, w.Files...), "")
	}
	if err != nil {
		return fmt.Errorf("give a copy of %s the log that it replays: %w", c.Server.Ref, err)
	}
	return nil
}

// histories names the files by which the server knows which timelines there were: it opens one that is
// newer than all of them.
func (n neutral) histories() string {
	var all []string
	for t := max(n.c.Position.Timeline, 1) + 1; t <= n.c.Newest; t++ {
		all = append(all, fmt.Sprintf("%08X.history", t))
	}
	return strings.Join(all, " ")
}

// Stands implements replay.Engine.
func (e Engine) Stands(ctx context.Context, _ host.Streamer, a load.Admin, c protect.Copy) (protect.Position, error) {
	return e.Recovered(ctx, a, c)
}

// Replay implements replay.Engine. The copy has replayed as it recovered: this proves where it ended.
func (e Engine) Replay(ctx context.Context, _ host.Streamer, a load.Admin, c protect.Copy, w replay.Way) error {
	at, err := branched(ctx, a)
	if err != nil {
		return err
	}
	why := ""
	switch {
	case at.Timeline <= c.Newest:
		why = fmt.Sprintf("the copy is on timeline %d, and the server had come to %d", at.Timeline, c.Newest)
	case w.Stop.LSN == "":
		at.Timeline = w.From.Timeline // of which it is a part up to there
		why = e.Same(w.From, at)
	case at.LSN != w.Stop.LSN:
		why = fmt.Sprintf("the copy recovered to %s, and the log goes to %s there", at.LSN, w.Stop.LSN)
	}
	if why != "" {
		return errors.New(why)
	}
	return nil
}

// settleScript gives a copy that has stopped the settings, links and notes of its source. What
// the source has archived is not to be archived again, nor its last WAL under a name that the source's
// own gets; the history of the new timeline is.
const settleScript = `set -efu
exec 2>&1
umask 077
data=$1 opened=$2 live=$3
shift 3
at() {
	cd -P -- "$1"
	[ "$(pwd -P)" = "$1" ] || { echo "$1 leads to $(pwd -P)"; exit 1; }
}
at "$data"
[ -f "pg_wal/$opened.history" ] || { echo "it has opened no timeline $opened"; exit 1; }
cd -P -- pg_wal
for name in $(find -P . -maxdepth 1 -type f -regextype posix-extended -regex './[0-9A-F]{24}' ! -name "$opened*" -printf '%f\n'); do
	[ -e "archive_status/$name.done" ] || [ -e "$live/archive_status/$name.ready" ] || : > "archive_status/$name.done"
	[ ! -e "archive_status/$name.done" ] || rm -f -- "archive_status/$name.ready"
done
: > "archive_status/$opened.history.ready"
at "$data"
while [ $# -gt 0 ]; do
	case $1 in
	pg_tblspc/*) at "$data/pg_tblspc" ;;
	esac
	[ -L "${1##*/}" ] || { echo "$1 is no longer a link"; exit 1; }
	ln -s -f -n -T -- "$2" "${1##*/}"
	at "$data"
	shift 2
done
[ ! -e plumb.replay/auto.conf ] || mv -T -f plumb.replay/auto.conf postgresql.auto.conf
find -P ./plumb.replay -xdev -delete
rm -f recovery.done recovery.conf recovery.signal postmaster.opts postmaster.pid
sync -f .`

// Settle implements replay.Engine.
func (Engine) Settle(ctx context.Context, d host.Streamer, c protect.Copy) error {
	argv := append(c.Server.As(d.About().Root), "sh", "-c", settleScript, "sh", c.In(c.Server.Dir("data")), fmt.Sprintf("%08X", c.Newest+1), c.Server.Dir("wal"))
	for _, dir := range c.Server.Dirs {
		if dir.Link != "" {
			argv = append(argv, dir.Link, dir.Path)
		}
	}
	if err := typed(ctx, d, argv, ""); err != nil {
		return fmt.Errorf("give a copy of %s its settings back: %w", c.Server.Ref, err)
	}
	return nil
}
