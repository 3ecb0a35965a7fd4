package point

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"plumb/internal/await"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/internal/units"
)

const (
	pause     = 100 * time.Millisecond // between two looks
	letGo     = 5 * time.Second        // for statements that give back
	lullPause = 10 * time.Millisecond  // between two looks for a moment without row waits
	rightsFor = "see `plumb snapshot --grants` for the rights that this needs"
)

var _ protect.Blocking = (*quiet)(nil)

// quiet is a lock that is held.
type quiet struct {
	h        host.Held
	position []string // statements
	release  []string
	will     []string  // gives back what does not go with the session
	lulls    []string  // ask how many should have ended before the lock is asked for
	ender    host.Held // ends a try that takes too long; nil where the server does so itself
	since    time.Time // of the last try
	failed   protect.Failed
}

// Since implements protect.Blocking: all that was typed before stopped nobody, or was given back.
func (q *quiet) Since() time.Time { return q.since }

// Failed implements protect.Blocking.
func (q *quiet) Failed() protect.Failed { return q.failed }

// Quiesce implements protect.Engine: it runs the statements of the mode.
func (*Engine) Quiesce(ctx context.Context, h host.Held, m protect.Mode, limit time.Duration) (protect.Quiet, error) {
	at := slices.Index(m.Statements, snapshot)
	if m.Name != protect.ModeLocked || at < 0 {
		return nil, fmt.Errorf("hold the server for a point: mode %s holds nothing of it", m.Name)
	}
	q := &quiet{h: h}
	var begin, take, looks []string
	limits := false // the server itself ends what takes too long
	for _, s := range m.Statements[:at] {
		switch {
		case strings.HasPrefix(s, setStatement):
			_, s, limits = strings.Cut(s, forStatement)
			take = append(take, s)
		case isPosition(s):
			q.position = append(q.position, s)
		case s == running || s == runs || s == holders || s == prepared:
			looks = append(looks, s)
		case s == rowWaits || s == unended:
			q.lulls = append(q.lulls, s)
		case strings.HasPrefix(s, thisServer), strings.HasPrefix(s, "SET "), s == flushLogs && take == nil:
			begin = append(begin, s)
		default:
			take = append(take, s)
		}
	}
	q.will = m.Will
	q.release = slices.DeleteFunc(slices.Clone(m.Statements[at+1+len(q.position):]), func(s string) bool { return slices.Contains(q.will, s) })
	err := q.begin(ctx, begin, limits)
	if err == nil {
		if err = q.take(ctx, take, looks, limit); err != nil {
			err = errors.Join(err, q.run(ctx, q.will))
		}
	}
	go q.closeEnder() // nobody waits for that
	if err != nil {
		return nil, fmt.Errorf("hold the server for a point: %w", err)
	}
	return q, nil
}

func isPosition(s string) bool {
	return s == sourceStatus || s == logStatus || s == gtidsMariaDB || s == gtidsMySQL
}

// begin makes the sessions ready, and looks whose they are.
func (q *quiet) begin(ctx context.Context, statements []string, limits bool) error {
	for _, s := range statements {
		if strings.HasPrefix(s, thisServer) {
			if err := isServer(ctx, q.h, s); err != nil {
				return err
			}
			if !limits {
				if err := q.openEnder(ctx, s); err != nil {
					return err
				}
			}
			continue
		}
		if err := q.h.Exec(ctx, s); errors.Is(err, host.ErrDenied) {
			return hint.With(err, rightsFor)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// isServer looks whose a session is.
func isServer(ctx context.Context, h host.Held, ask string) error {
	rows, err := h.Query(ctx, ask)
	if err == nil && len(rows.Values) != 1 {
		err = hint.With(errors.New("the session is connected to another server than the one whose files are snapshotted, or to one that was restarted with other settings"),
			"log in over the server's own socket, not through a proxy")
	}
	return err
}

// gaveUp words why nothing is held.
func (q *quiet) gaveUp(ctx, within context.Context, limit time.Duration, err error) error {
	_, known := errors.AsType[waited](err)
	switch {
	case errors.Is(err, host.ErrDenied):
		return hint.With(err, rightsFor)
	case ctx.Err() == nil && (known || within.Err() != nil):
		return hint.With(fmt.Errorf("given up after %s; nothing is locked: %w", units.Span(limit), err), "wait for it to end, or end it yourself: Plumb ends nobody's work")
	}
	return err
}

// clear waits until nobody is in the way of the locks.
func (q *quiet) clear(ctx context.Context, looks []string, all bool) error {
	var last string
	for {
		who, err := q.inTheWay(ctx, looks, all)
		if err != nil && ctx.Err() != nil && last != "" { // the time was up amid a look
			return waited{errors.New(last)}
		}
		if err != nil || who == "" {
			return err
		}
		last = who
		if await.Pause(ctx, pause) != nil {
			return waited{errors.New(who)}
		}
	}
}

// inTheWay names who would hold up the lock: all that runs for long, or only what
// changes tables.
func (q *quiet) inTheWay(ctx context.Context, looks []string, all bool) (string, error) {
	for _, look := range looks {
		rows, err := q.h.Query(ctx, look)
		if errors.Is(err, host.ErrDenied) {
			continue // the lock itself is bounded
		}
		if err != nil {
			return "", err
		}
		for _, row := range rows.Values {
			if look == prepared {
				return "the XA transaction " + plain(host.Text(row, 3)) + " is prepared, and waits for XA COMMIT or XA ROLLBACK", nil
			}
			if info := host.Text(row, 4); all || changesTables(info) {
				return fmt.Sprintf("session %s, for %s s (%s): %s", host.Text(row, 0), host.Text(row, 2), plain(host.Text(row, 3)), shape(info)), nil
			}
		}
	}
	return "", nil
}

// giveBack releases what a try may have been granted. Statements for what was not are no error.
func (q *quiet) giveBack(ctx context.Context) error {
	if err := q.run(ctx, q.release); err != nil {
		return errors.Join(err, q.h.Close())
	}
	return nil
}

// run gives back by some statements.
func (q *quiet) run(ctx context.Context, statements []string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), letGo)
	defer cancel()
	for _, s := range statements {
		err := q.h.Exec(ctx, s)
		switch {
		case errors.Is(err, host.ErrBroken):
			return nil // with the connection all is gone
		case err != nil && !strings.Contains(err.Error(), "Error 4146"): // ER_BACKUP_NOT_RUNNING, in whatever language: what was not begun need not end
			return err
		}
	}
	return nil
}

// Position implements protect.Quiet.
func (q *quiet) Position(ctx context.Context) (protect.Position, error) {
	p, err := read(ctx, q.h.Query, q.position)
	if err != nil {
		return p, fmt.Errorf("read the position under the lock: %w", err)
	}
	return p, nil
}

// Release implements protect.Quiet.
func (q *quiet) Release(ctx context.Context) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), letGo)
	defer cancel()
	for _, s := range slices.Concat(q.release, q.will) {
		if err := q.h.Exec(ctx, s); err != nil {
			return nil, errors.Join(fmt.Errorf("release the server: %w", err), q.h.Close())
		}
	}
	return nil, nil
}
