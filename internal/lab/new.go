package lab

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/inventory"
	"plumb/internal/inventory/kinds"
)

// New completes a lab that has its adapters: it names a directory of its own
// below dir, and finds whom servers run as. Nothing is made yet.
func New(ctx context.Context, do *host.LiveDoer, dir string, l Lab) (*Lab, error) {
	whole, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if st, err := do.Stat(ctx, whole); err != nil || !st.Mode.IsDir() {
		return nil, hint.Usage(fmt.Sprintf("--dir %s is no directory", whole), "make it first, on the disk that is to be measured")
	}
	if whole, err = host.OnlyOurs(whole); err != nil {
		return nil, hint.With(fmt.Errorf("make a lab below %s: %w", dir, err), "--dir names a directory in which only root can rename things, such as /var/tmp")
	}
	run := fmt.Sprintf("%x", time.Now().UnixNano()/1e6%(1<<32))
	l.Box = Workspace{Dir: filepath.Join(whole, "plumb-lab-"+run), Run: run, Do: do}
	l.UID, l.GID, err = user(ctx, do)
	return &l, err
}

// Begin opens the book of what the lab makes, and makes its directory. end
// takes all away again.
func (l *Lab) Begin(ctx context.Context, books string) (end func() error, err error) {
	if l.Box.Log, err = inventory.Open(ctx, l.Box.Do, kinds.All(), books, l.Box.Run); err != nil {
		return nil, err
	}
	after := context.WithoutCancel(ctx)
	if err := l.Open(ctx); err != nil {
		return nil, errors.Join(err, l.Box.Log.Close(after))
	}
	return func() error { return errors.Join(l.Close(after), l.Box.Log.Close(after)) }, nil
}
