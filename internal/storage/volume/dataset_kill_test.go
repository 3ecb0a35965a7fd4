package volume

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plumb/internal/host/hosttest"
	"plumb/internal/inventory"
	"plumb/internal/inventory/kinds"
	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
	"plumb/test/mortal"
)

// Of the process that is killed: its directory and the parent of its dataset.
const envDataset = "PLUMB_DATASET"

// mortalLab makes a dataset, uses it and takes it away, or leaves it.
func mortalLab(ctx context.Context, told string) error {
	dir, parent, _ := strings.Cut(told, ",")
	m, err := mortal.Born()
	if err != nil {
		return err
	}
	book, err := kinds.Books(m, filepath.Join(dir, "books")).Open(ctx, "crash1")
	if err != nil {
		return err
	}
	l := &lab.Lab{Box: lab.Workspace{Dir: filepath.Join(dir, "lab"), Run: "crash1", Do: m, Book: book}}
	if err := l.Open(ctx); err != nil {
		return err
	}
	v, err := New().Make(ctx, l.Box, "v1", experiment.Volume{Kind: experiment.Dataset, Parent: parent})
	if err != nil {
		return err
	}
	golden, err := v.Golden(ctx, 0, 0)
	if err == nil {
		err = os.WriteFile(filepath.Join(golden, "table"), bytes.Repeat([]byte("plumb"), 1<<16), 0o600)
	}
	for range 2 {
		clone := ""
		if err == nil {
			clone, _, err = v.Clone(ctx)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(clone, "table"), nil, 0o600)
		}
		if err == nil {
			err = v.Drop(ctx)
		}
	}
	if err == nil {
		_, _, err = v.Clone(ctx)
	}
	if err == nil && m.How != "leave" {
		err = errors.Join(v.Close(ctx), book.Close(ctx))
	}
	m.Tell()
	return err
}

// mortalLife runs a lab in a process of its own.
func mortalLife(t *testing.T, dir, parent string, at int, how string) (operations int) {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^TestDatasetOfAKilledLab$")
	c.Env = append(os.Environ(), envDataset+"="+dir+","+parent)
	return mortal.Live(t, c, at, how)
}

// pace is of how many deaths one is tried.
func pace() int {
	switch {
	case os.Getenv("PLUMB_REAL") != "":
		return 1
	case testing.Short():
		return 37
	}
	return 11
}

func TestDatasetOfAKilledLab(t *testing.T) {
	if told := os.Getenv(envDataset); told != "" {
		must(t, mortalLab(t.Context(), told))
		return
	}
	pool, dir := somebodysPool(t)
	parent := pool + "/db"
	for _, argv := range [][]string{ // what looks like ours
		{"zfs", "create", "-o", kinds.RunProperty + "=other", parent + "/plumb-lab-other-v1"},
		{"zfs", "create", parent + "/plumb-lab-crash1-v9"},
		{"zfs", "create", "-o", kinds.RunProperty + "=crash1", parent + "/mine"},
		{"zfs", "snapshot", parent + "@daily"},
	} {
		sh(t, argv...)
	}
	before := sets(t, pool)
	n := mortalLife(t, dir, parent, 0, "never")
	if n < 30 {
		t.Fatalf("only %d operations", n)
	}
	nothingLeftOf(t, dir, pool, before, "without a death")
	most, tried := 0, 0
	mortal.Ways(t, n, pace(), func(at int, how string) {
		mortalLife(t, dir, parent, at, how)
		most, tried = max(most, len(sets(t, pool))-len(before)), tried+1
		sweptClean(t, filepath.Join(dir, "books"))
		nothingLeftOf(t, dir, pool, before, fmt.Sprintf("killed %s operation %d of %d", how, at, n))
	})
	t.Logf("%d deaths of %d operations; the most that was left were %d datasets", tried, n, most)
	if most < 2 {
		t.Error("the deaths left nothing: the test does not see it")
	}
	text, err := os.ReadFile(filepath.Join(dir, "db/live"))
	if err != nil || string(text) != "live data" {
		t.Errorf("the live data are %q, %v", text, err)
	}
}

// While a pool is away, nobody can say that a dataset in it is gone.
func TestDatasetOfAPoolThatIsAway(t *testing.T) {
	pool, dir := somebodysPool(t)
	before := sets(t, pool)
	mortalLife(t, dir, pool, 0, "leave")
	sh(t, "zpool", "export", pool)
	swept, err := kinds.Books(hosttest.LiveDoer(t), filepath.Join(dir, "books")).Sweep(t.Context())
	must(t, err)
	if !slices.ContainsFunc(swept, func(s inventory.Swept) bool {
		return s.Thing.Kind == inventory.Dataset && s.Err != nil && !errors.Is(s.Err, inventory.ErrForeign)
	}) {
		t.Errorf("%+v", swept)
	}
	sh(t, "zpool", "import", "-d", dir, "-o", "cachefile=none", pool)
	if left := sets(t, pool); len(left) < len(before)+3 {
		t.Errorf("only %v is left", left)
	}
	sweptClean(t, filepath.Join(dir, "books"))
	nothingLeftOf(t, dir, pool, before, "after the pool came back")
}

// sweptClean takes away what the books of a directory name, and wants no error.
func sweptClean(t *testing.T, books string) []inventory.Swept {
	t.Helper()
	swept, err := kinds.Books(hosttest.LiveDoer(t), books).Sweep(t.Context())
	must(t, err)
	for _, s := range swept {
		if s.Err != nil {
			t.Errorf("%+v: %v", s.Thing, s.Err)
		}
	}
	return swept
}

// nothingLeftOf checks that a pool is as it was, and that nothing is left in a
// lab's directory.
func nothingLeftOf(t *testing.T, dir, pool string, before []string, when string) {
	t.Helper()
	if after := sets(t, pool); !slices.Equal(before, after) {
		t.Errorf("%s: the pool has %v, and had %v", when, after, before)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	must(t, err)
	if bytes.Contains(mounts, []byte(filepath.Join(dir, "lab"))) {
		t.Errorf("%s: something is mounted", when)
	}
	if _, err := os.Stat(filepath.Join(dir, "lab")); err == nil {
		t.Errorf("%s: the lab's directory is left", when)
	}
	if books, _ := filepath.Glob(filepath.Join(dir, "books/*.book")); len(books) > 0 {
		t.Errorf("%s: %v is left", when, books)
	}
}
