package lab

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/passwd"
	"plumb/internal/inventory"
	"plumb/internal/inventory/kinds"
	"plumb/internal/product"
)

// Open makes the lab's own directory.
func (l *Lab) Open(ctx context.Context) error {
	box := l.Box
	if err := box.Book.Tree(ctx, inventory.Thing{Name: box.Dir}, 0o755); err != nil {
		return fmt.Errorf("make the lab's directory %s: %w", box.Dir, err)
	}
	return nil
}

// user gives the ids that servers run as: 0 and 0, ourselves, for a lab that is
// not root.
func user(ctx context.Context, h host.Reader) (uid, gid int, err error) {
	if !h.About().Root {
		return 0, 0, nil
	}
	text, err := h.ReadFile(ctx, passwd.File)
	if err != nil {
		return 0, 0, err
	}
	var users []string // they refuse to be root
	for _, p := range product.Servers() {
		users = append(users, p.Accounts...)
	}
	users = append(users, "nobody")
	for _, name := range users {
		if u, is := passwd.Named(text, name); is && u.UID > 0 {
			return u.UID, u.GID, nil
		}
	}
	return 0, 0, hint.With(fmt.Errorf("find a user to run servers as: this machine has none of %s", strings.Join(users, ", ")), "useradd --system mysql makes one")
}

// own gives files to the user of the servers.
func (l *Lab) own(ctx context.Context, names ...string) error {
	if l.UID == 0 {
		return nil
	}
	_, err := l.Box.Do.Run(ctx, append([]string{"chown", fmt.Sprintf("%d:%d", l.UID, l.GID)}, names...)...)
	return err
}

// New completes a lab that has its adapters: it names a directory of its own
// below dir, and finds whom servers run as. Nothing is made yet.
func New(ctx context.Context, do *host.LiveDoer, dir string, l Lab) (*Lab, error) {
	whole, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if st, err := do.Stat(ctx, whole); err != nil || !st.Mode.IsDir() {
		return nil, hint.Usage(fmt.Sprintf("--dir %s is not a directory", whole), "create it first, on the disk that you want to measure")
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
	if l.Box.Book, err = kinds.Books(l.Box.Do, books).Open(ctx, l.Box.Run); err != nil {
		return nil, err
	}
	after := context.WithoutCancel(ctx)
	if err := l.Open(ctx); err != nil {
		return nil, errors.Join(err, l.Box.Book.Close(after))
	}
	return func() error { return errors.Join(l.Close(after), l.Box.Book.Close(after)) }, nil
}
