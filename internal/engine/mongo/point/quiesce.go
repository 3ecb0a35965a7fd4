package point

import (
	"context"
	"errors"
	"fmt"
	"time"

	"plumb/internal/engine/mongo"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
)

// The lock is the server's and no connection's: it is counted, and stays until it is given back.
const (
	isLocked    = `{"currentOp": 1, "$only": ["fsyncLock"]}`
	fsyncLock   = `{"fsync": 1, "lock": true}`
	fsyncUnlock = `{"fsyncUnlock": 1}`
)

const letGo = 5 * time.Second

// quiet is a server that is locked against writes.
type quiet struct{ h host.Held }

// Quiesce implements protect.Engine. A server that somebody else has locked is left alone: who gives
// our lock back, when we are dead, could give back his.
func (Engine) Quiesce(ctx context.Context, h host.Held, m protect.Mode, limit time.Duration) (protect.Quiet, error) {
	if m.Name != protect.ModeLocked {
		return nil, fmt.Errorf("hold the server for a point: mode %s holds nothing of it", m.Name)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	q := quiet{h}
	locked, err := q.locked(ctx)
	if err == nil && locked {
		err = hint.With(errors.New("it is already locked, by somebody else's fsyncLock"), "wait until that backup has ended, or db.fsyncUnlock() if it is dead")
	}
	if err != nil {
		return nil, fmt.Errorf("hold the server for a point: %w: %w", protect.ErrUntouched, err)
	}
	if err = h.Exec(ctx, fsyncLock); errors.Is(err, host.ErrDenied) {
		return nil, hint.With(fmt.Errorf("hold the server for a point: %w: %w", protect.ErrUntouched, err), "it needs the role hostManager")
	}
	if err != nil {
		return nil, fmt.Errorf("hold the server for a point: %w", err)
	}
	return q, nil
}

func (q quiet) locked(ctx context.Context) (bool, error) {
	rows, err := q.h.Query(ctx, isLocked)
	if err != nil {
		return false, err
	}
	return len(rows.Values) > 0 && host.Text(rows.Values[0], 0) == "true", nil // it says so only when it is
}

// Position implements protect.Quiet.
func (q quiet) Position(ctx context.Context) (protect.Position, error) {
	rows, err := q.h.Query(ctx, `{"hello": 1}`)
	if err != nil {
		return protect.Position{}, fmt.Errorf("read the position under the lock: %w", err)
	}
	at, err := mongo.LastWrite(rows)
	return protect.Position{Time: at}, err
}

// Release implements protect.Quiet.
func (q quiet) Release(ctx context.Context) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), letGo)
	defer cancel()
	locked, err := q.locked(ctx)
	if err == nil && !locked {
		return nil, errors.New("release the server: somebody else has unlocked it")
	}
	if err := q.h.Exec(ctx, fsyncUnlock); err != nil {
		return nil, fmt.Errorf("release the server: %w", err)
	}
	return nil, err
}
