package deaths

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumb/internal/await"
	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/internal/protect/clone"
)

// shut is a storage that looks who can enter a copy while it is made.
type shut struct {
	protect.Storage
	modes []os.FileMode
}

// Clone implements protect.Storage.
func (s *shut) Clone(ctx context.Context, d host.Streamer, m protect.Member, at protect.CloneAt) error {
	st, err := os.Stat(strings.TrimSuffix(at.Dir, m.Mountpoint))
	if err != nil {
		return err
	}
	s.modes = append(s.modes, st.Mode().Perm())
	return s.Storage.Clone(ctx, d, m, at)
}

// TestNobodyEntersHalfACopy: until all is mounted nobody but root comes near the directories on which it is mounted: they are the
// server's user's, who could put a link to another directory of the host in the place of one.
func TestNobodyEntersHalfACopy(t *testing.T) {
	s := OnBtrfs(t)
	look := &shut{Storage: s.storages[0]}
	s.storages = []protect.Storage{look}
	name := filepath.Base(s.Box.Dir)
	for _, o := range []clone.Options{{Name: name, Purpose: protect.ForUse, Memory: 256 << 20}, {Name: name, Purpose: protect.ForBrowse}} {
		look.modes = nil
		h := s.Alive()
		must(t, s.clone(o)(t.Context(), h))
		if got := fmt.Sprint(look.modes); got != "[-rwx------ -rwx------]" {
			t.Errorf("%s: while it was made its root was %s", o.Purpose, got)
		}
		st, err := os.Stat(filepath.Join(s.Copies, name, "root"))
		must(t, err)
		if st.Mode().Perm() != 0o711 {
			t.Errorf("%s: its root is %s: its server could not enter it", o.Purpose, st.Mode())
		}
		must(t, drop(name)(t.Context(), h))
	}
}

// TestRefreshThatCannotBe: a clone goes only when another can be made in its place.
func TestRefreshThatCannotBe(t *testing.T) {
	s := OnBtrfs(t)
	h, ctx, name := s.Alive(), t.Context(), filepath.Base(s.Box.Dir)
	source := &protect.Source{Network: "unix", Address: "/nowhere"}
	refused := func(p protect.Point, source *protect.Source, want string) {
		t.Helper()
		_, err := h.Clones.Refresh(ctx, name, p, source)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
		all, err := h.Clones.List(ctx, h.Keeper.Do)
		if all = clone.Now(ctx, h.Keeper.Do, all); err != nil || len(all) != 1 || all[0].State != clone.Made {
			t.Errorf("of the clone is left %+v, %v", all, err)
		}
	}
	must(t, s.clone(clone.Options{Name: name, Purpose: protect.ForReplica, Memory: 256 << 20, Source: source})(ctx, h))
	refused(s.Point, nil, "its source was not recorded")
	others := s.Point
	others.ID = "tank/db@daily"
	refused(others, source, "that others took")
	if _, err := h.Clones.Refresh(ctx, name, s.Point, source); err != nil {
		t.Error(err)
	}
	must(t, drop(name)(ctx, h))

	must(t, s.clone(clone.Options{Name: name, Purpose: protect.ForUse, Memory: 256 << 20})(ctx, h))
	refused(s.Point, source, "is not a replica")
	must(t, s.take(ctx, h))
	all, err := h.Keeper.Store.List(ctx, h.Keeper.Do)
	must(t, err)
	late := all[len(all)-1]
	for _, m := range late.Members {
		sh(t, "btrfs subvolume delete "+filepath.Join(s.Top, m.Snapshot))
	}
	refused(late, nil, "is gone")
	must(t, drop(name)(ctx, h))
}

// full is a machine whose disk has no room for the last word on a clone.
type full struct{ sqlMachine }

// Replace implements host.Doer.
func (f full) Replace(ctx context.Context, name string, data []byte, perm os.FileMode) error {
	if strings.Contains(string(data), `"state": "made"`) {
		return syscall.ENOSPC
	}
	return f.sqlMachine.Replace(ctx, name, data, perm)
}

// TestCloneThatCannotBeNoted: of a clone for whose record there is no room nothing is left, and the next is made.
func TestCloneThatCannotBeNoted(t *testing.T) {
	s := OnBtrfs(t)
	o := clone.Options{Name: filepath.Base(s.Box.Dir), Purpose: protect.ForUse, Memory: 256 << 20}
	before := sh(t, s.List)
	if err := s.clone(o)(t.Context(), s.On(full{s.live})); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("it ended with %v", err)
	}
	left, err := os.ReadDir(s.Copies)
	must(t, err)
	all, err := s.Alive().Clones.List(t.Context(), s.live)
	if err != nil || len(all) > 0 || len(left) > 0 || sh(t, s.List) != before {
		t.Errorf("left are the clones %+v, the copies %v, and of subvolumes %s; %v", all, left, sh(t, s.List), err)
	}
	must(t, s.clone(o)(t.Context(), s.Alive()))
	must(t, drop(o.Name)(t.Context(), s.Alive()))
}

// TestClonesThatEnded: a clone whose server is gone, as after a start of the machine, is not listed as one that runs.
func TestClonesThatEnded(t *testing.T) {
	s := OnBtrfs(t)
	h, ctx, name := s.Alive(), t.Context(), filepath.Base(s.Box.Dir)
	now := func() clone.State {
		t.Helper()
		all, err := h.Clones.List(ctx, h.Keeper.Do)
		must(t, err)
		return clone.Now(ctx, h.Keeper.Do, all)[0].State
	}
	must(t, s.clone(clone.Options{Name: name, Purpose: protect.ForUse, Memory: 256 << 20})(ctx, h))
	if got := now(); got != clone.Made {
		t.Errorf("it runs, and is %s", got)
	}
	one, err := h.Clones.Get(ctx, h.Keeper.Do, name)
	must(t, err)
	must(t, syscall.Kill(one.PID, syscall.SIGKILL))
	if err := await.Until(ctx, 20*time.Second, func() (bool, error) { return now() == clone.Ended, nil }); err != nil {
		t.Errorf("it is killed, and is %s: %v", now(), err)
	}
	must(t, s.refresh(name)(ctx, h))
	if got := now(); got != clone.Made {
		t.Errorf("it was refreshed, and is %s", got)
	}
	must(t, drop(name)(ctx, h))

	must(t, s.clone(clone.Options{Name: name, Purpose: protect.ForBrowse})(ctx, h))
	if got := now(); got != clone.Made {
		t.Errorf("its files are there, and it is %s", got)
	}
	sh(t, "awk -v d="+s.Copies+"/ 'index($5, d) == 1 {print $5}' /proc/self/mountinfo | sort -r | xargs -n 1 umount")
	if got := now(); got != clone.Ended {
		t.Errorf("its files are gone, and it is %s", got)
	}
	must(t, drop(name)(ctx, h))
}

// TestLeftClones: what is left of one clone and cannot be taken away keeps nobody from making another.
func TestLeftClones(t *testing.T) {
	s := OnBtrfs(t)
	h, ctx, name := s.Alive(), t.Context(), filepath.Base(s.Box.Dir)
	told := 0
	h.Keeper.Warn = func(string, error) { told++ }
	must(t, os.MkdirAll(h.Clones.Dir, 0o700))
	damaged := filepath.Join(h.Clones.Dir, "damaged.json")
	must(t, os.WriteFile(damaged, []byte("{"), 0o600))
	must(t, s.clone(clone.Options{Name: name, Purpose: protect.ForBrowse})(ctx, h))
	if told != 1 {
		t.Errorf("it was told %d times", told)
	}
	if err := s.clone(clone.Options{Name: "damaged", Purpose: protect.ForBrowse})(ctx, h); err == nil {
		t.Error("a clone was written over what could not be read")
	}
	must(t, drop(name)(ctx, h))
	must(t, os.Remove(damaged))
}
