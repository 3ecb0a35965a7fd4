package mirror

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"plumb/internal/host/hosttest"
	"plumb/internal/host/tree"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// mirrored makes one directory like the other, as a newly started Plumb does.
func mirrored(t *testing.T, dir string, m Mirror) error {
	t.Helper()
	var err error
	m.Done, err = Open(t.Context(), hosttest.LiveDoer(t), dir+"/list")
	must(t, err)
	m.Old, err = tree.Open(dir + "/old")
	must(t, err)
	defer m.Old.Close()
	m.New, err = tree.Open(dir + "/new")
	must(t, err)
	defer m.New.Close()
	_, err = m.Whole(t.Context())
	return err
}

// texts gives what is in a directory.
func texts(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		all[name[len(dir)+1:]] = string(text)
		return err
	}))
	return all
}

// One side becomes like the other, and what was written there since comes back, also what was made and removed. What is
// skipped is left alone on both sides, and of what is not named only that comes back which was made in the new place.
func TestThereAndBack(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) { must(t, os.WriteFile(dir+"/"+name, []byte(text), 0o640)) }
	must(t, errors.Join(os.MkdirAll(dir+"/old/d", 0o750), os.Mkdir(dir+"/new", 0o700)))
	write("old/d/a", "a")
	write("old/b", "b")
	write("old/kept.pid", "1")
	write("old/other", "stays")
	must(t, os.Link(dir+"/old/b", dir+"/old/d/c"))
	m := Mirror{Only: []string{"d", "b", "*.pid"}, Skip: []string{"*.pid"}}
	must(t, mirrored(t, dir, m))
	if got, want := texts(t, dir+"/new"), (map[string]string{"d/a": "a", "b": "b", "d/c": "b"}); !maps.Equal(got, want) {
		t.Fatalf("there: %q in place of %q", got, want)
	}
	write("new/d/a", "a, and more")
	write("new/made", "since")
	write("new/own.pid", "2")
	must(t, os.Remove(dir+"/new/b"))
	m.Back = true
	for range 2 {
		must(t, mirrored(t, dir, m))
		want := map[string]string{"d/a": "a, and more", "d/c": "b", "made": "since", "kept.pid": "1", "other": "stays"}
		if got := texts(t, dir+"/old"); !maps.Equal(got, want) {
			t.Fatalf("and back: %q in place of %q", got, want)
		}
	}
	if names := slices.Sorted(maps.Keys(texts(t, dir+"/new"))); !slices.Equal(names, []string{"d/a", "d/c", "made", "own.pid"}) {
		t.Errorf("the new place has %q", names)
	}
}

// Of two directories that vanish together one can be named before what is in the other: "db-old" is listed between "db" and "db/a".
func TestTwoDirectoriesVanish(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"old/db", "old/db-old", "new"} {
		must(t, os.MkdirAll(dir+"/"+name, 0o750))
	}
	must(t, errors.Join(os.WriteFile(dir+"/old/db/a", nil, 0o640), os.WriteFile(dir+"/old/db-old/b", nil, 0o640), os.WriteFile(dir+"/old/kept", nil, 0o640)))
	must(t, mirrored(t, dir, Mirror{}))
	must(t, errors.Join(os.RemoveAll(dir+"/old/db"), os.RemoveAll(dir+"/old/db-old")))
	must(t, mirrored(t, dir, Mirror{}))
	if names := slices.Sorted(maps.Keys(texts(t, dir+"/new"))); !slices.Equal(names, []string{"kept"}) {
		t.Errorf("the other side has %q", names)
	}
}
