package point

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/internal/units"
)

const (
	pause     = 100 * time.Millisecond // between two looks
	letGo     = 5 * time.Second        // for statements that give back
	lockWait  = time.Second            // lock_wait_timeout
	lullPause = 10 * time.Millisecond  // between two looks for a moment without row waits
	rightsFor = "see `plumb snapshot --grants` for the rights that this needs"
)

var _ protect.Blocking = (*quiet)(nil)

// quiet is a lock that is held.
type quiet struct {
	h        host.Held
	position []string // statements
	release  []string
	lulls    string // asks how many transactions wait for rows; "" where that does not matter
	since    time.Time
}

// Since implements protect.Blocking: all that was typed before the first lock stopped nobody.
func (q *quiet) Since() time.Time { return q.since }

// Quiesce implements protect.Engine: it runs the statements of the mode.
func (*Engine) Quiesce(ctx context.Context, h host.Held, m protect.Mode, limit time.Duration) (protect.Quiet, error) {
	at := slices.Index(m.Statements, snapshot)
	if m.Name != protect.ModeLocked || at < 0 {
		return nil, fmt.Errorf("hold the server for a point: mode %s holds nothing of it", m.Name)
	}
	q := &quiet{h: h}
	var take, looks []string
	for _, s := range m.Statements[:at] {
		switch {
		case isPosition(s):
			q.position = append(q.position, s)
		case s == running || s == runs || s == holders || s == prepared:
			looks = append(looks, s)
		case s == rowWaits:
			q.lulls = s
		case strings.HasPrefix(s, thisServer), strings.HasPrefix(s, "SET "):
			if err := q.begin(ctx, s); err != nil {
				return nil, fmt.Errorf("hold the server for a point: %w", err)
			}
		default:
			take = append(take, s)
		}
	}
	q.release = m.Statements[at+1+len(q.position):]
	if err := q.take(ctx, take, looks, limit); err != nil {
		return nil, fmt.Errorf("hold the server for a point: %w", err)
	}
	return q, nil
}

func isPosition(s string) bool {
	return s == sourceStatus || s == logStatus || s == gtidsMariaDB || s == gtidsMySQL
}

// begin makes the session ready, and looks whose it is.
func (q *quiet) begin(ctx context.Context, s string) error {
	if !strings.HasPrefix(s, thisServer) {
		return q.h.Exec(ctx, s)
	}
	rows, err := q.h.Query(ctx, s)
	if err == nil && len(rows.Values) != 1 {
		err = hint.With(errors.New("the session leads to another server than the one whose files are snapshotted, or to one that was restarted with other settings"),
			"log in over the server's own socket, not through a proxy")
	}
	return err
}

// take takes the locks. What was granted is given back before it is tried again:
// others wait behind a lock that waits.
func (q *quiet) take(ctx context.Context, take, looks []string, limit time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	all := slices.Contains(take, readLock)
	var was error // who was in the way the last time
	for {
		err := q.clear(limited, looks, all)
		if late, _ := limited.Deadline(); err == nil && was != nil && time.Until(late) < lockWait {
			err = was // it would be cut off while it waits
		} else if err == nil {
			if err = q.lull(limited); err == nil {
				err = q.locks(limited, take)
			}
		}
		if err == nil {
			return nil
		}
		back := q.giveBack(ctx)
		if !isTimeout(err) || back != nil || ctx.Err() != nil {
			return q.gaveUp(ctx, limited, limit, errors.Join(err, back), was)
		}
		if was, err = q.blamed(ctx, looks); err != nil {
			return q.gaveUp(ctx, limited, limit, err, was)
		}
		select {
		case <-limited.Done():
			return q.gaveUp(ctx, limited, limit, was, was)
		case <-time.After(pause):
		}
	}
}

// lull waits for a moment in which no transaction waits for a row of another. FLUSH TABLES WITH READ LOCK
// waits for those who do, and stops the one they wait for, if he has not come to his COMMIT: a circle
// that the server does not see, and that lasts until the lock is given up.
func (q *quiet) lull(ctx context.Context) error {
	if q.lulls == "" {
		return nil
	}
	for late, _ := ctx.Deadline(); time.Until(late) > 2*lockWait; { // this wait stops nobody, and one for the lock does
		rows, err := q.h.Query(ctx, q.lulls)
		if err != nil || len(rows.Values) != 1 || host.Text(rows.Values[0], 1) == "0" {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lullPause):
		}
	}
	return nil // with many writers there may be none: then it is left to luck
}

// locks takes the locks. Near its limit the server must give up before we do: a statement that is cut off takes the
// session with it, and then nobody can be asked who was in the way.
func (q *quiet) locks(ctx context.Context, take []string) error {
	if q.since.IsZero() {
		q.since = time.Now()
	}
	for _, s := range take {
		if late, limited := ctx.Deadline(); limited && time.Until(late) <= lockWait {
			if err := q.h.Exec(ctx, fmt.Sprintf("SET SESSION lock_wait_timeout = %d", max(0, time.Until(late)/time.Second))); err != nil {
				return err
			}
		}
		if err := q.h.Exec(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// blamed tells who may have held up a lock that was not granted.
func (q *quiet) blamed(ctx context.Context, looks []string) (who, err error) {
	ctx, cancel := context.WithTimeout(ctx, letGo)
	defer cancel()
	name, err := q.inTheWay(ctx, looks, true)
	if name == "" {
		name = "the lock was not granted, and nobody runs a statement: a session holds LOCK TABLES, or another backup goes on"
	}
	return waited{errors.New(name)}, err
}

// waited is who was in the way until the time was up.
type waited struct{ error }

// isTimeout tells whether a lock was not granted in lock_wait_timeout.
func isTimeout(err error) bool {
	return strings.Contains(err.Error(), "Error 1205") || strings.Contains(err.Error(), "Lock wait timeout")
}

// gaveUp words why nothing is held.
func (q *quiet) gaveUp(ctx, limited context.Context, limit time.Duration, err, was error) error {
	_, known := errors.AsType[waited](err)
	switch {
	case errors.Is(err, host.ErrDenied):
		return hint.With(err, rightsFor)
	case ctx.Err() == nil && (known || limited.Err() != nil):
		if !known && was != nil {
			err = was
		}
		return hint.With(fmt.Errorf("given up after %s, nothing is held: %w", units.Span(limit), err), "wait for it to end, or end it yourself: Plumb ends nobody's work")
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
		select {
		case <-ctx.Done():
			return waited{errors.New(who)}
		case <-time.After(pause):
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

// giveBack releases what may have been granted. Statements for what was not are no error.
func (q *quiet) giveBack(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), letGo)
	defer cancel()
	for _, s := range q.release {
		err := q.h.Exec(ctx, s)
		switch {
		case errors.Is(err, host.ErrBroken):
			return nil // with the connection all is gone
		case err != nil && !strings.Contains(err.Error(), "must start backup"): // what was not begun need not end
			return errors.Join(err, q.h.Close())
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
	for _, s := range q.release {
		if err := q.h.Exec(ctx, s); err != nil {
			return nil, errors.Join(fmt.Errorf("release the server: %w", err), q.h.Close())
		}
	}
	return nil, nil
}
