package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/lab"
	"plumb/internal/lab/made"
	labview "plumb/internal/view/lab"
)

// labMaking says how a lab is made.
type labMaking struct {
	dir       string // below which it makes a directory of its own
	fetch     bool   // server versions may be fetched
	allowHost bool   // settings of the whole machine may be changed, and put back
	capture   bool   // the full stack is recorded with each trial
}

// newLab makes a lab that has made nothing yet.
func (a *app) newLab(ctx context.Context, hands *host.Hands, m labMaking) (*lab.Lab, error) {
	dir, err := filepath.Abs(m.dir)
	if err != nil {
		return nil, err
	}
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return nil, hint.Usage(fmt.Sprintf("--dir %s is no directory", dir), "make it first, on the disk that is to be measured")
	}
	if dir, err = host.OnlyOurs(dir); err != nil {
		return nil, hint.With(fmt.Errorf("make a lab below %s: %w", m.dir, err), "--dir names a directory in which only root can rename things, such as /var/tmp")
	}
	run := fmt.Sprintf("%x", time.Now().UnixNano()/1e6%(1<<32))
	l := &lab.Lab{Box: lab.Box{Dir: filepath.Join(dir, "plumb-lab-"+run), Run: run, Do: hands},
		Medium: medium(), Engines: engines(), Plumb: programVersion(), Fetch: m.fetch, Host: m.allowHost}
	if l.UID, l.GID, err = lab.User(ctx, hands); err != nil {
		return nil, err
	}
	if m.capture {
		l.Capture, err = a.captureStack()
	}
	return l, err
}

// openLab opens the book of what a lab makes, and makes its directory. With
// sweep, what dead labs left is taken away before, and told. end takes all away again.
func (a *app) openLab(ctx context.Context, l *lab.Lab, books string, sweep bool) (end func() error, err error) {
	if sweep {
		swept, err := made.Sweep(ctx, l.Box.Do, books)
		if len(swept) > 0 {
			fmt.Fprint(a.err, labview.Swept(swept, screen(a.err)))
		}
		if err != nil {
			return nil, err
		}
	}
	if l.Box.Book, err = made.Open(ctx, l.Box.Do, books, l.Box.Run); err != nil {
		return nil, err
	}
	after := context.WithoutCancel(ctx)
	if err := l.Open(ctx); err != nil {
		return nil, errors.Join(err, l.Box.Book.Close(after))
	}
	return func() error { return errors.Join(l.Close(after), l.Box.Book.Close(after)) }, nil
}
