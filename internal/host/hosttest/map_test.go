package hosttest_test

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"testing"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
)

func TestMapAnswersFromItsFields(t *testing.T) {
	m := hosttest.Map{
		Files:   map[string]string{"/sys/block/sda/size": "8\n"},
		Links:   map[string]string{"/sys/block/sdb": "../devices/sdb"},
		Outputs: map[string]string{"zpool list": "tank\n"},
		Queries: map[string]host.Rows{"SELECT 1": hosttest.Table("1", "1"), "a SELECT 1": hosttest.Table("1", `\N`)},
		Errors:  map[string]error{"file /etc/shadow": fs.ErrPermission},
	}
	ctx := context.Background()
	if got, err := m.Glob(ctx, "/sys/block/*"); err != nil || !slices.Equal(got, []string{"/sys/block/sda", "/sys/block/sdb"}) {
		t.Errorf("glob: %v, %v", got, err)
	}
	if st, err := m.Stat(ctx, "/sys/block"); err != nil || !st.Mode.IsDir() {
		t.Errorf("a directory above a file: %v, %v", st, err)
	}
	if _, err := m.ReadFile(ctx, "/etc/shadow"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a set error: %v", err)
	}
	if _, err := m.ReadFile(ctx, "/etc/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if out, err := m.Output(ctx, "zpool", "list"); err != nil || string(out) != "tank\n" {
		t.Errorf("output: %q, %v", out, err)
	}
	if _, err := m.Output(ctx, "zfs", "list"); !errors.Is(err, host.ErrNoCommand) {
		t.Errorf("a missing command: %v", err)
	}
	if rows, err := m.Query(ctx, host.Target{Name: "a"}, "SELECT 1"); err != nil || rows.Values[0][0] != nil {
		t.Errorf("the target's own rows: %v, %v", rows, err)
	}
	if rows, err := m.Query(ctx, host.Target{Name: "b"}, "SELECT 1"); err != nil || *rows.Values[0][0] != "1" {
		t.Errorf("any target's rows: %v, %v", rows, err)
	}
	if _, err := m.Query(ctx, host.Target{Name: "b"}, "SELECT 2"); !errors.Is(err, host.ErrDenied) {
		t.Errorf("a missing query: %v", err)
	}
}
