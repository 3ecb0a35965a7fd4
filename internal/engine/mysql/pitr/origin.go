package pitr

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"plumb/internal/archive"
	"plumb/internal/engine/mysql/binlog"
	"plumb/internal/protect"
	"plumb/internal/protect/replay"
	"plumb/internal/relay"
	"plumb/internal/units"
)

// Names, places and GTIDs come again, as binlog.Joint says. So the log of a base is told by times as well: the file in which the base
// ends was there when the base was made, what comes behind that place was not, and of two files of that name the later one took the
// place of the other.

// origin is how a file of a series begins.
type origin struct {
	log   *shelfLog
	head  string    // its first event: another file of the same name has another
	made  time.Time // as the session had it that had it made
	first bool      // no transaction is known to come before it: a log begins with it
}

var errHead = errors.New("how it begins was read")

// ofBase leaves of the series that have the file in which a base ends those that can be of its log, in their order. Of those of which
// that cannot be told it says why. Without any that has the file it leaves all.
func ofBase(ctx context.Context, logs []*shelfLog, b base) (fit []*shelfLog, unknown []string, err error) {
	var could []origin
	var why error // the first is none
	sort := func(o origin, bad error) {
		switch {
		case bad == nil:
			could = append(could, o)
		case !errors.Is(bad, binlog.ErrOther):
			unknown = append(unknown, fmt.Sprintf("whether the series %s is of the log of the base is not known: %v", o.log.series, bad))
		}
		if why == nil {
			why = bad
		}
	}
	for _, l := range logs {
		if l.files[b.at.File] != nil {
			o, bad := origin{log: l}, l.wasPast(ctx, b)
			if bad == nil {
				o, bad = l.origin(ctx, b)
			}
			sort(o, bad)
		}
	}
	if all := could; several(all) {
		could = nil
		for _, o := range all {
			sort(o, o.log.joins(ctx, b.start()))
		}
	}
	if len(could) == 0 && why == nil {
		return logs, nil, nil
	}
	if len(could) == 0 {
		return nil, nil, why
	}
	now := slices.MaxFunc(could, func(a, b origin) int { return a.made.Compare(b.made) })
	if now.first && !bool(b.point) && b.meanwhile(now.made) { // the log that a point has itself is compared later
		return nil, nil, fmt.Errorf("the log of the series %s was begun at %s, while the base was made: whether the base is of it or of the one before is not known%s", now.log.series, units.Moment(now.made), now.log.sayso())
	}
	for _, o := range could {
		if o.head == now.head {
			fit = append(fit, o.log)
		}
	}
	return fit, unknown, nil
}

// meanwhile tells whether a log may have been begun while a base was made, behind its place. All are in whole seconds: where a base
// began in that of its log, its GTIDs tell that something was written before the place, unless it ended in that second too.
func (b base) meanwhile(made time.Time) bool {
	return made.After(b.began) || made.Equal(b.began) && (b.at.GTID == "" || made.Equal(b.ended))
}

// several tells whether there are files of more than one log.
func several(all []origin) bool {
	return slices.ContainsFunc(all, func(o origin) bool { return o.head != all[0].head })
}

// joins reads a file up to where a base ends, and tells whether it is one that the base can end in.
func (l *shelfLog) joins(ctx context.Context, from replay.Start) error {
	write := func(ctx context.Context, out io.Writer) error { return l.write(ctx, from.File, out) }
	return relay.Run(ctx, write, func(in io.Reader) error { return joins(in, from) })
}

// origin reads how the file begins in which a base ends. One that was made later is of another log.
func (l *shelfLog) origin(ctx context.Context, b base) (o origin, err error) {
	o = origin{log: l, first: true}
	write := func(ctx context.Context, out io.Writer) error { return l.write(ctx, b.at.File, out) }
	err = relay.Run(ctx, write, func(in io.Reader) error {
		return binlog.Scan(in, func(e binlog.Event) error {
			if e.Type == binlog.Format {
				o.head, o.made = string(event(e)), e.Time
				return nil
			}
			o.first = e.Type != binlog.GTIDList || len(e.List()) == 0
			return errHead
		})
	})
	switch {
	case err != nil && !errors.Is(err, errHead):
		return o, err
	case o.head == "":
		return o, fmt.Errorf("%s does not begin as a binary log does", b.at.File)
	}
	if why := (binlog.Place{Until: b.ended}).Later(o.made); why != "" {
		return o, fmt.Errorf("%s of the series %s: %w: %s%s", b.at.File, l.series, binlog.ErrOther, why, l.sayso())
	}
	return o, nil
}

// wasPast is an error when a series is known to have come further than where a base ends before that began: all in a piece was written
// before it was kept.
func (l *shelfLog) wasPast(ctx context.Context, b base) error {
	p, is := l.after(b.at)
	if !is {
		return nil
	}
	e, err := l.entry(ctx, l.s, p)
	began := b.began
	if !b.point { // that it began in is in whole seconds, and its place was read at its end
		began = began.Add(time.Second)
	}
	if err == nil && e.Kept.Before(began) {
		err = fmt.Errorf("%w: the series %s had come past %s at %s, and the %s began at %s%s", binlog.ErrOther, l.series, at(b.at.File, b.at.Offset), units.Moment(e.Kept), b.point, units.Moment(b.began), l.sayso())
	}
	return err
}

// after is the first piece that has something behind a place.
func (l *shelfLog) after(from protect.Position) (p archive.Piece, is bool) {
	for i, name := range l.names[slices.Index(l.names, from.File):] {
		for _, p := range l.files[name] {
			if i > 0 || p.To > from.Offset {
				return p, true
			}
		}
	}
	return p, false
}

// sayso is how a person says that a series is of the log of a base all the same: clocks are wrong now and then.
func (l *shelfLog) sayso() string {
	return "; if a clock was wrong and it is the log of the base, say so: --log " + l.server + "/" + l.series
}

// saidSo tells whether a person named the series, and not only the server.
func saidSo(log string) bool { return strings.Contains(log, "/") }
