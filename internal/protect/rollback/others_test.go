package rollback

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/host/hosttest"
	"plumb/internal/protect"
)

// TestFilesOfOthers: what others changed on the server's datasets since the point is listed, and refused unless that is wanted.
func TestFilesOfOthers(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("gives files to other users: run as root")
	}
	const server, other = 61234, 61235
	top := filepath.Join(t.TempDir(), "a [b]*")
	data := filepath.Join(top, "data")
	must(t, os.MkdirAll(filepath.Join(data, "shop"), 0o755))
	must(t, os.MkdirAll(filepath.Join(top, "export"), 0o755))
	write := func(name string, uid int) {
		t.Helper()
		must(t, os.WriteFile(filepath.Join(top, name), []byte("x"), 0o644))
		must(t, os.Chown(filepath.Join(top, name), uid, uid))
	}
	write("before", other)
	then := time.Now()
	for end := then.Add(10 * time.Second); ; { // the clock of files may be behind
		write("tick", server)
		st, err := os.Stat(filepath.Join(top, "tick"))
		must(t, err)
		if st.ModTime().After(then) {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the clock of files stands still")
		}
	}
	must(t, os.Remove(filepath.Join(top, "tick")))
	time.Sleep(time.Until(then.Add(2 * tick))) // the point is of the past
	points := protect.Store{Dir: t.TempDir()}
	c := func(others bool) *checking {
		c := &checking{r: Rollback{Keeper: &protect.Keeper{Do: here{hosttest.LiveDoer(t)}, Now: time.Now, Store: points}}, plan: &Plan{}, o: Options{Others: others}}
		c.plan.Server = protect.Server{UID: server, Dirs: []protect.Dir{{Role: "data", Path: data}}}
		c.plan.Point.Times = protect.Times{Began: then.Add(-time.Hour), Snapshot: then.Add(tick)}
		c.plan.Volumes = []Volume{{Member: protect.Member{Volume: protect.Volume{Name: "tank/db", Mountpoint: top}}}}
		return c
	}
	write("data/ibdata1", server)
	write("data/shop/orders.ibd", server)
	if err := c(false).others(t.Context()); err != nil {
		t.Fatalf("the server's own: %v", err)
	}
	write("data/notes", other) // somebody else's, in the server's directory
	write("export/today", server)
	write("line\nbreak", other)
	must(t, os.Symlink("/etc/passwd", filepath.Join(top, "link")))
	err := c(false).others(t.Context())
	if err == nil || !strings.Contains(err.Error(), "4 files of others changed") || !strings.HasSuffix(err.Error(), "/link") {
		t.Errorf("refused by %v", err)
	}
	wanted := c(true)
	must(t, wanted.others(t.Context()))
	want := []string{"data/notes", "export/today", "line\nbreak", "link"}
	for i := range want {
		want[i] = filepath.Join(top, want[i])
	}
	if !slices.Equal(wanted.plan.Others, want) {
		t.Errorf("listed are %q, want %q", wanted.plan.Others, want)
	}
	ahead := c(false) // the point was dated by a clock that was set back since, and what changed since looks older
	ahead.plan.Point.ID, ahead.plan.Point.Times.Snapshot = "20261124T010000Z-0000", time.Now().Add(time.Minute)
	if err := ahead.others(t.Context()); err == nil || !strings.Contains(err.Error(), "the clock was set back: point 20261124T010000Z-0000 is dated in the future") {
		t.Errorf("after a clock that was ahead: %v", err)
	}
	ahead.o.Others = true
	if must(t, ahead.others(t.Context())); !strings.Contains(fmt.Sprint(ahead.notes), "the clock was set back since") {
		t.Errorf("noted: %q", ahead.notes)
	}
}

// blind is a machine on which nothing is found.
type blind struct{ here }

func (blind) Run(context.Context, ...string) ([]byte, error) {
	return nil, errors.New("find: unrecognized: -newerct")
}

// TestOthersThatCannotBeSeen: who did not say that all may go back is refused, and who did is told.
func TestOthersThatCannotBeSeen(t *testing.T) {
	c := func(others bool) *checking {
		c := &checking{r: Rollback{Keeper: &protect.Keeper{Do: blind{here{hosttest.LiveDoer(t)}}, Now: time.Now, Store: protect.Store{Dir: t.TempDir()}}}, plan: &Plan{}, o: Options{Others: others}}
		c.plan.Volumes = []Volume{{Member: protect.Member{Volume: protect.Volume{Name: "tank/db", Mountpoint: "/srv/db"}}}}
		return c
	}
	if err := c(false).others(t.Context()); err == nil || !strings.Contains(err.Error(), "find which files of others changed on tank/db") {
		t.Errorf("refused by %v", err)
	}
	told := c(true)
	must(t, told.others(t.Context()))
	if text := fmt.Sprint(told.notes); !strings.Contains(text, "cannot be seen") {
		t.Errorf("noted: %s", text)
	}
}
