package propose

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/change"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/provision"
	"plumb/internal/provision/disk"
	"plumb/internal/provision/spec"
	"plumb/internal/stack"
)

// maker makes a thing on a disk, wherever it is asked to.
type maker struct {
	provision.Storage
	acts []change.Act
}

func (m maker) Pool(context.Context, host.Reader, spec.Pool, provision.Birth) (provision.Making, error) {
	return provision.Making{Acts: m.acts}, nil
}

func (m maker) Filesystem(context.Context, host.Reader, spec.Filesystem, string, provision.Birth) (provision.Making, error) {
	return provision.Making{Acts: m.acts}, nil
}

// erasing is a machine on which something is made on disks that the spec lets be erased.
type erasing struct {
	t    *testing.T
	pool string // the file that stands for it
	d    *host.LiveDoer
	k    *change.Executor
}

func newErasing(t *testing.T) *erasing {
	dir, d := t.TempDir(), hosttest.LiveDoer(t)
	e := &erasing{t, filepath.Join(dir, "pool"), d, change.NewExecutor(d, "test")}
	e.k.Dir = filepath.Join(dir, "journal")
	return e
}

// on makes a pool on a disk, which a digit tells from others.
func (e *erasing) on(digit, erase string) change.Act {
	proof := (disk.Disk{Spec: spec.Disk{Path: "/dev/x", Erase: erase}, Serial: "S1", On: []string{"XFS"}, Digest: strings.Repeat(digit, 64), Size: 1 << 30}).Proof()
	proof.Argv[2] = ":" // there is no such disk
	return change.Act{Make: &change.Make{Thing: change.Thing{Name: "the pool tank", Inspect: &change.Inspection{File: e.pool, Match: "^(.+)$"}},
		Do: []change.Op{proof, {Argv: []string{"sh", "-c", `echo {mark} >"$1"`, "sh", e.pool}}}, Undo: []change.Op{{Argv: []string{"rm", e.pool}}}}}
}

// apply makes it, and dies once it is made and not written down, if it shall.
func (e *erasing) apply(dies bool) (change.Outcome, error) {
	k, dead := *e.k, false
	k.Doer = &host.Hooked{Behind: e.d, Around: func(_ context.Context, c host.Call, do func() error) error {
		if dead {
			return errors.New("dead")
		}
		dead = dies && strings.Contains(strings.Join(c.Of, " "), "echo")
		return do()
	}}
	return k.Apply(e.t.Context(), change.Draft{Steps: []change.Prepared{provision.Step(stack.Ref{Kind: "mysql", Name: "3306"}, "pool", []change.Act{e.on("a", "S1")})}}, change.ApplyOptions{})
}

// gone takes it away as one that was exported.
func (e *erasing) gone() {
	e.t.Helper()
	if err := os.Remove(e.pool); err != nil {
		e.t.Fatal(err)
	}
}

// wants plans to make it on a disk, as a pool and as a filesystem, and wants words in the refusal and in its hint; "" for none.
func (e *erasing) wants(when string, a change.Act, refused, helps string) {
	e.t.Helper()
	for name, sp := range map[string]spec.Spec{"pool": {Pool: &spec.Pool{Name: "tank"}}, "filesystem": {Filesystem: &spec.Filesystem{Type: "xfs", At: "/srv"}}} {
		p := &planning{Flow: Flow{Storage: maker{acts: []change.Act{a}}, System: bare{}}, d: e.d, dir: e.k.Dir}
		p.Stack, p.Spec = &stack.Stack{}, sp
		err := p.place(e.t.Context())
		if (err != nil) != (refused != "") || err != nil && (!strings.Contains(err.Error(), refused) || !strings.Contains(hint.Of(err), helps)) {
			e.t.Errorf("%s, %s: %v, hint %q", when, name, err, hint.Of(err))
		}
	}
}

// A spec lets a disk be erased for ever. What was made on it meanwhile is not seen while its pool is not imported, or its filesystem
// not mounted: it is not erased then.
func TestWhatWasMadeIsNotErased(t *testing.T) {
	e := newErasing(t)
	out, err := e.apply(false)
	if err != nil {
		t.Fatal(err)
	}
	e.gone()
	e.wants("in force", e.on("a", "S1"), "change 1 made the pool tank on a disk that is to be erased", "plumb undo 1")
	e.wants("another disk", e.on("b", "S1"), "", "")
	e.wants("one that is proven to be empty", e.on("a", ""), "", "")
	if err := e.k.Undo(t.Context(), []int{out.Number}, change.UndoOptions{}); err != nil {
		t.Fatal(err)
	}
	e.wants("undone", e.on("a", "S1"), "", "")
	if out, err = e.apply(false); err != nil {
		t.Fatal(err)
	}
	if err := e.k.Forget(t.Context(), out.Number, func(*change.Change, change.Recorded, error) {}); err != nil {
		t.Fatal(err)
	}
	e.wants("forgotten", e.on("a", "S1"), "no undo will remove it", // an undo would do nothing
		"once nobody needs its contents: wipefs -a /dev/x, then make its first 16M and last 80M, and 4K from byte 67108864 on, zero")
	e.wants("forgotten and made empty", e.on("a", ""), "", "")
}

// What was begun may be there, though nobody knows yet.
func TestWhatWasBegunIsNotErased(t *testing.T) {
	e := newErasing(t)
	if _, err := e.apply(true); err == nil {
		t.Fatal("it was to die")
	}
	e.gone()
	e.wants("dead amid it", e.on("a", "S1"), "change 1 began to make the pool tank on a disk that is to be erased", "plumb undo 1")
}
