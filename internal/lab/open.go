package lab

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/inventory"
)

// Open makes the lab's own directory.
func (l *Lab) Open(ctx context.Context) error {
	box := l.Box
	_, err := box.Log.Make(ctx, inventory.Thing{Kind: inventory.Tree, Name: box.Dir}, func(*inventory.Thing) error {
		if _, err := box.Do.Run(ctx, "mkdir", "-m", "755", box.Dir); err != nil {
			return err
		}
		return box.Do.Append(ctx, filepath.Join(box.Dir, inventory.Marker), []byte(box.Run+"\n"))
	})
	if err != nil {
		return fmt.Errorf("make the lab's directory %s: %w", box.Dir, err)
	}
	return nil
}

// users are whom the servers run as when the lab runs as root: they refuse to
// be root.
var users = []string{"mysql", "postgres", "nobody"}

// user gives the ids that servers run as: 0 and 0, ourselves, for a lab that is
// not root.
func user(ctx context.Context, h host.Reader) (uid, gid int, err error) {
	if !h.About().Root {
		return 0, 0, nil
	}
	text, err := h.ReadFile(ctx, "/etc/passwd")
	if err != nil {
		return 0, 0, err
	}
	for _, name := range users {
		if uid, gid, ok := passwd(string(text), name); ok {
			return uid, gid, nil
		}
	}
	return 0, 0, hint.With(fmt.Errorf("find a user to run servers as: this machine has none of %s", strings.Join(users, ", ")), "useradd --system mysql makes one")
}

// passwd finds a user's ids in the text of /etc/passwd.
func passwd(text, name string) (uid, gid int, ok bool) {
	for line := range strings.Lines(text) {
		f := strings.Split(line, ":")
		if len(f) < 4 || f[0] != name {
			continue
		}
		uid, err := strconv.Atoi(f[2])
		gid, err2 := strconv.Atoi(f[3])
		return uid, gid, err == nil && err2 == nil && uid > 0
	}
	return 0, 0, false
}

// own gives files to the user of the servers.
func (l *Lab) own(ctx context.Context, names ...string) error {
	if l.UID == 0 {
		return nil
	}
	_, err := l.Box.Do.Run(ctx, append([]string{"chown", fmt.Sprintf("%d:%d", l.UID, l.GID)}, names...)...)
	return err
}
