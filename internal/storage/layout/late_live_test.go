package layout

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/internal/change"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/provision"
	"plumb/internal/provision/spec"
	"plumb/internal/stack"
	"plumb/test/sandbox"
)

// ownPool names a pool of the test's own, which goes with it.
func (x *box) ownPool(letter string) string {
	name := "plumb" + strings.ReplaceAll(filepath.Base(x.Dir), "-", "") + letter
	x.OnClose(func() error { // of a test that failed: the daemon would remember it
		_ = exec.Command("zpool", "destroy", "-f", name).Run()
		return nil
	})
	return name
}

// Somebody has unmounted a dataset with something in it: by force nothing of it is lost, and leaving it as it is ends the undo.
func TestADatasetThatIsNotMountedIsLeftToo(t *testing.T) {
	x := newBox(t)
	x.fuse()
	pool, at := x.ownPool("u"), filepath.Join(x.Dir, "mnt")
	data := pool + "/db/data"
	x.sh(`zpool create -m none -O canmount=off "$1" "$2"`, pool, x.disk("unmounted", 64).Path)
	number, err := x.apply(x.datasets(pool, at))
	if err != nil {
		t.Fatal(err)
	}
	x.sh(`printf theirs >"$1/file"; zfs unmount "$2"`, at, data)
	if err := x.undo(number, change.UndoOptions{Force: true}); err == nil || !strings.Contains(err.Error(), data+" holds file: it is kept") || !strings.HasPrefix(hint.Of(err), "--keep leaves these") {
		t.Errorf("by force: %v, hint %q", err, hint.Of(err))
	}
	if err := x.undo(number, change.UndoOptions{Keep: true}); err != nil {
		t.Error(err)
	}
	if open := x.open(number); open != nil {
		t.Errorf("open is %q", open)
	}
	if got := x.sh(`zfs get -H -o value canmount,mountpoint,mounted "$1"; zfs mount "$1"; cat "$2/file"`, data, at); got != "on\n"+at+"\nno\ntheirs" {
		t.Errorf("it is left as\n%s", got)
	}
	// zfs-fuse lets go of an unmounted dataset a moment after the kernel has.
	x.sh(`zfs unmount "$1"; rmdir "$2"; ls -d /run/plumb-look.* 2>/dev/null || :; i=0
until zpool destroy "$3" 2>/dev/null; do i=$((i + 1)); [ "$i" -lt 300 ]; sleep 0.1; done`, data, at, pool)
}

// A zpool create that does not end when it is killed makes its pool later: until then its act is not undone, and then the pool is known,
// also while it is not imported.
func TestAPoolThatComesLateIsKnown(t *testing.T) {
	x := newBox(t)
	x.fuse()
	x.name = x.ownPool("l")
	zpool, err := exec.LookPath("zpool")
	sandbox.Need(t, err)
	bin, dir := t.TempDir(), t.TempDir()
	script := fmt.Sprintf(`#!/bin/sh
[ "$1" = create ] || exec %[1]s "$@"
[ -n "$LATE" ] || { LATE=1 setsid "$0" "$@" >/dev/null 2>&1 & : >%[2]s/begun; wait; exit; }
i=0
while [ ! -e %[2]s/go ] && [ "$((i += 1))" -lt 3000 ]; do sleep 0.02; done
[ ! -e %[2]s/go ] || exec %[1]s "$@"
`, zpool, dir)
	if err := os.WriteFile(filepath.Join(bin, "zpool"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	p := spec.Pool{Name: x.name, Layout: spec.Mirror, Data: []spec.Disk{x.disk("la", 64), x.disk("lb", 64)}}
	was := x.state()
	acts := x.acts(func(h host.Reader) (provision.Making, error) { return x.lay.Pool(t.Context(), h, p, provision.Birth{}) }).Acts
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	until := func(script string) {
		for i := 0; i < 1500 && exec.Command("sh", "-c", script).Run() != nil; i++ {
			time.Sleep(20 * time.Millisecond)
		}
	}
	go func() { until("[ -e " + dir + "/begun ]"); cancel() }()
	draft := change.Draft{Steps: []change.Prepared{{Step: change.Step{Knob: stack.Knob{Of: stack.Ref{Kind: "host", Name: "test"}, Name: "it"}}, Recipe: change.Recipe{Acts: acts}}}}
	out, err := x.executor().Apply(ctx, draft, change.ApplyOptions{})
	if err == nil || !strings.Contains(out.Steps[0].Back, "could not be reverted: ") || !strings.Contains(out.Steps[0].Back, "has not ended") {
		t.Fatalf("%v, %+v", err, out)
	}
	if open := x.open(out.Number); len(open) != 1 || open[0] != "the pool "+x.name {
		t.Fatalf("open is %q", open)
	}
	x.sh(`: >"$1/go"`, dir)
	until(`zpool list -H -o name | grep -qx ` + x.name)
	x.sh(`zpool export "$1"`, x.name)
	undone, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	if err := x.executor().Undo(undone, []int{out.Number}, change.UndoOptions{}); err == nil || !strings.Contains(err.Error(), "has a label of the pool "+x.name) {
		t.Errorf("not imported: %v", err)
	}
	x.sh(`zpool import -d "$1" -d /dev "$2"`, x.Dir, x.name)
	if err := x.undo(out.Number, change.UndoOptions{}); err != nil {
		t.Error(err)
	}
	if now := x.state(); now != was {
		t.Errorf("undo left\n%s\nof\n%s", now, was)
	}
}
