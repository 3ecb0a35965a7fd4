package protect

import (
	"context"
	"errors"
	"os"
	"path"
	"strings"
	"testing"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
)

// TestEditedPoints: the file of a point that somebody edited is none, and nothing of it is destroyed: a typing error must not make a point of
// a state that nothing looks after, nor one without snapshots that counts as proven.
func TestEditedPoints(t *testing.T) {
	s := newScene(t, machine{})
	p, err := s.Take(t.Context(), s.plan, TakeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for want, edit := range map[string]func(*Point){
		`"takne" is not a state of a point`: func(p *Point) { p.State = "takne" },
		`"" is not a state of a point`:      func(p *Point) { p.State = "" },
		"it has no snapshots":               func(p *Point) { p.Members, p.Label = nil, Proven },
	} {
		edited := p
		edit(&edited)
		if err := s.Store.Put(t.Context(), s.Do, edited); err != nil {
			t.Fatal(err)
		}
		all, err := s.Store.List(t.Context(), s.Do)
		if len(all) != 0 || err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(hint.Of(err), "repair the file") {
			t.Errorf("want %s, got %+v, %v", want, all, err)
		}
		if err := s.Destroy(t.Context(), p.ID); err == nil || len(s.snapshots(t)) != 2 {
			t.Errorf("%s: destroyed, %v; left are %q", want, err, s.snapshots(t))
		}
	}
}

// before lists a file that another Plumb removes before it is read.
type before struct {
	host.Reader
	gone string
}

func (b before) Glob(ctx context.Context, pattern string) ([]string, error) {
	all, err := b.Reader.Glob(ctx, pattern)
	if strings.Contains(pattern, "*") {
		all = append(all, b.gone)
	}
	return all, err
}

// TestPointsThatGoMeanwhile: a point that another Plumb destroys while points are read is no damage; a file that cannot be followed is.
func TestPointsThatGoMeanwhile(t *testing.T) {
	s := newScene(t, machine{})
	if _, err := s.Take(t.Context(), s.plan, TakeOptions{}); err != nil {
		t.Fatal(err)
	}
	all, err := s.Store.List(t.Context(), before{s.Do, s.Store.file("20261123T210500Z-4f3a")})
	if err != nil || len(all) != 1 {
		t.Errorf("gone meanwhile: %+v, %v", all, err)
	}
	if err := os.Symlink("nowhere", path.Join(s.Store.Dir, "20261123T210500Z-4f3a.json")); err != nil {
		t.Fatal(err)
	}
	if all, err = s.Store.List(t.Context(), s.Do); err == nil || len(all) != 1 {
		t.Errorf("a link to nowhere: %+v, %v", all, err)
	}
}

// TestTidyOneDirectory: halves of files are removed in the directory of that name, and not in those that its name meets as a pattern.
func TestTidyOneDirectory(t *testing.T) {
	d, dir := hosttest.LiveDoer(t), t.TempDir()
	half := func(name string) string { return path.Join(dir, name, ".a.json.plumb-new") }
	for _, name := range []string{"state[1]", "state1"} {
		if err := errors.Join(os.Mkdir(path.Join(dir, name), 0o700), os.WriteFile(half(name), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := TidyKept(t.Context(), d, path.Join(dir, "state[1]")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(half("state[1]")); err == nil {
		t.Error("it is left")
	}
	if _, err := os.Stat(half("state1")); err != nil {
		t.Errorf("that of another directory: %v", err)
	}
}
