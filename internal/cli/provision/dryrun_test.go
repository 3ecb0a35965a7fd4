package provision

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/change"
	"plumb/internal/cli/shell"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/provision"
	"plumb/internal/provision/propose"
	"plumb/internal/stack"
)

// What an earlier run began and did not end is told by a dry run too, and left as it is: it may have stopped the server that the dry run
// does not find.
func TestADryRunTellsWhatWasBegun(t *testing.T) {
	dir := t.TempDir()
	d := hosttest.LiveDoer(t)
	open := func(d *host.LiveDoer) (*host.LiveDoer, *change.Executor, error) {
		k := change.NewExecutor(d, "test")
		k.Dir = filepath.Join(dir, "journal")
		return d, k, nil
	}
	_, k, _ := open(d)
	k.Doer = &host.Hooked{Behind: d, Around: func(_ context.Context, c host.Call, do func() error) error {
		if c.Op == "make directory" && strings.Contains(c.Of[0], "begun") {
			panic("killed")
		}
		return do()
	}}
	acts := []change.Act{{Make: &change.Make{Thing: change.Thing{Path: filepath.Join(dir, "begun")}, Directory: &change.Dir{Perm: 0o700, UID: -1, GID: -1}}}}
	func() {
		defer func() { _ = recover() }()
		r := provision.Run{Executor: k, Of: "tank/mariadb"}
		_, _ = r.Stage(t.Context(), provision.Stage{Name: "move /var/lib/mysql", Steps: []change.Prepared{provision.Step(stack.Ref{Kind: "mysql", Name: "3306"}, "move /var/lib/mysql", acts)}})
	}()
	var out, said strings.Builder
	v := &verbs{Shell: &shell.Shell{Out: &out, Err: &said}}
	flow := propose.Flow{Open: func() (*host.LiveDoer, *change.Executor, error) { return open(hosttest.LiveDoer(t)) }}
	if err := v.goOn(t.Context(), flow, flags{dryRun: true}, "tank/mariadb"); err != nil {
		t.Fatal(err)
	}
	if got := said.String(); !strings.Contains(got, "Change 1 (move /var/lib/mysql) was begun but not ended") || !strings.Contains(got, "as that left it") || out.String() != "" {
		t.Errorf("it says %q, and prints %q", got, out.String())
	}
	if _, err := os.Stat(filepath.Join(dir, "begun")); err == nil {
		t.Error("a dry run ended it")
	}
	said.Reset()
	if err := v.goOn(t.Context(), flow, flags{dryRun: true}, "tank/postgres"); err != nil || said.String() != "" {
		t.Errorf("of another provision: %v, %q", err, said.String())
	}
	flow.Open = func() (*host.LiveDoer, *change.Executor, error) { return nil, nil, errors.New("permission denied") }
	if err := v.goOn(t.Context(), flow, flags{dryRun: true}, "tank/mariadb"); err != nil || !strings.Contains(said.String(), "has ended: permission denied") {
		t.Errorf("where the journal cannot be read: %v, %q", err, said.String())
	}
}
