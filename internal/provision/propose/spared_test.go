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

// A spec lets a disk be erased for ever. What was made on it meanwhile is not seen while its pool is not imported, or its filesystem
// not mounted: it is not erased then.
func TestWhatWasMadeIsNotErased(t *testing.T) {
	dir := t.TempDir()
	d := host.NewLiveDoer(host.NewLive(host.LiveOptions{}))
	t.Cleanup(func() { d.Close() })
	k := change.NewExecutor(d, "test")
	k.Dir = filepath.Join(dir, "journal")
	on := func(digit, erase string) change.Act {
		proof := (disk.Disk{Spec: spec.Disk{Path: "/dev/x", Erase: erase}, Serial: "S1", On: []string{"XFS"}, Digest: strings.Repeat(digit, 64), Size: 1 << 30}).Proof()
		proof.Argv[2] = ":" // there is no such disk
		file := filepath.Join(dir, "pool")
		return change.Act{Make: &change.Make{Thing: change.Thing{Name: "the pool tank", Inspect: &change.Inspection{File: file, Match: "^(.+)$"}},
			Do: []change.Op{proof, {Argv: []string{"sh", "-c", `echo {mark} >"$1"`, "sh", file}}}, Undo: []change.Op{{Argv: []string{"rm", file}}}}}
	}
	apply := func(digit string, dies bool) (change.Outcome, error) {
		k, dead := *k, false
		k.Doer = &host.Hooked{Behind: d, Around: func(_ context.Context, c host.Call, do func() error) error {
			if dead {
				return errors.New("dead")
			}
			dead = dies && strings.Contains(strings.Join(c.Of, " "), "echo")
			return do()
		}}
		return k.Apply(t.Context(), change.Draft{Steps: []change.Prepared{provision.Step(stack.Ref{Kind: "mysql", Name: "3306"}, "pool", []change.Act{on(digit, "S1")})}}, change.ApplyOptions{})
	}
	out, err := apply("a", false)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "pool")); err != nil { // as one that was exported
		t.Fatal(err)
	}
	plan := func(a change.Act) map[string]error {
		errs := map[string]error{}
		for name, sp := range map[string]spec.Spec{"pool": {Pool: &spec.Pool{Name: "tank"}}, "filesystem": {Filesystem: &spec.Filesystem{Type: "xfs", At: "/srv"}}} {
			m := maker{acts: []change.Act{a}}
			p := &planning{Flow: Flow{Storage: m, System: bare{}}, d: d, dir: k.Dir}
			p.Stack, p.Spec = &stack.Stack{}, sp
			errs[name] = p.place(t.Context())
		}
		return errs
	}
	for name, err := range plan(on("a", "S1")) {
		if err == nil || !strings.Contains(err.Error(), "change 1 made the pool tank on a disk that is to be erased") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for what, a := range map[string]change.Act{"another disk": on("b", "S1"), "one that is proven to be empty": on("a", "")} {
		for name, err := range plan(a) {
			if err != nil {
				t.Errorf("%s, %s: %v", what, name, err)
			}
		}
	}
	if err := k.Undo(t.Context(), []int{out.Number}, change.UndoOptions{}); err != nil {
		t.Fatal(err)
	}
	for name, err := range plan(on("a", "S1")) {
		if err != nil {
			t.Errorf("undone, %s: %v", name, err)
		}
	}
	if out, err = apply("a", false); err != nil {
		t.Fatal(err)
	}
	if err := k.Forget(t.Context(), out.Number, func(*change.Change, change.Recorded, error) {}); err != nil {
		t.Fatal(err)
	}
	for name, err := range plan(on("a", "S1")) { // an undo would do nothing
		if err == nil || !strings.Contains(err.Error(), "no undo takes it away any more") || !strings.HasSuffix(hint.Of(err), "once nobody needs what is in it: wipefs -a /dev/x, then make its first 16M and last 80M, and 4K from byte 67108864 on, zero") {
			t.Errorf("forgotten, %s: %v, %s", name, err, hint.Of(err))
		}
	}
	for name, err := range plan(on("a", "")) {
		if err != nil {
			t.Errorf("forgotten and made empty, %s: %v", name, err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "pool")); err != nil {
		t.Fatal(err)
	}
	if out, err = apply("c", true); err == nil {
		t.Fatal("it was to die")
	}
	for name, err := range plan(on("c", "S1")) { // it may be there, and nobody knows yet
		if err == nil || !strings.Contains(err.Error(), "change 3 began to make the pool tank on a disk that is to be erased") || !strings.Contains(hint.Of(err), "plumb undo 3") {
			t.Errorf("dead amid it, %s: %v, %s", name, err, hint.Of(err))
		}
	}
}
