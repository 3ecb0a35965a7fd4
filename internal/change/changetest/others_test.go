package changetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/change"
)

func aCopy(dir string) change.Act {
	return change.Act{Copy: &change.Copy{From: dir + "/from", To: dir + "/to"}}
}

// What others did to what was made or copied is not undone over their heads; where they would lose what is
// theirs, not even by force.
func TestOthersMeddleWithThings(t *testing.T) {
	for name, c := range map[string]struct {
		act    func(dir string) change.Act
		meddle string // a shell's words, in the directory
		want   string
		force  bool // undoes it all the same
	}{
		"a file in a new directory": {newDirectory, "touch a/file", "not: it holds file", false},
		"another directory":         {newDirectory, "rmdir a && mkdir b && mkdir a && touch a/theirs", "another: device", false},
		"a link in its place":       {newDirectory, "rmdir a && ln -s from a", "another: a link", false},
		"a file changed in a copy":  {aCopy, "echo more >>to/large1", "changed", true},
		"a file more in a copy":     {aCopy, "touch to/more", "changed", true},
		"another copy":              {aCopy, "mv to theirs && mkdir to && touch to/theirs", "another: device", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			filled(t, dir+"/from")
			was := everything(t, dir)
			c2 := onDisk(t, dir, c.act(dir))
			number := apply(t, c2)
			sh(t, dir, c.meddle)
			meddled := everything(t, dir)
			undo := func(o change.UndoOptions) error { return c2.executor(c2.Doer).Undo(t.Context(), []int{number}, o) }
			d, ok := errors.AsType[*change.Drifted](undo(change.UndoOptions{}))
			if !ok || !strings.Contains(d.Error(), c.want) || everything(t, dir) != meddled {
				t.Fatalf("undone: %v\n%s", d, everything(t, dir))
			}
			err := undo(change.UndoOptions{Force: true})
			if c.force && (err != nil || everything(t, dir) != was) || !c.force && (err == nil || everything(t, dir) != meddled) {
				t.Errorf("by force: %v\n%s", err, everything(t, dir))
			}
			if err := undo(change.UndoOptions{Keep: true}); err != nil {
				t.Errorf("left as it is: %v", err)
			}
		})
	}
}

func newDirectory(dir string) change.Act { return aDirectory(dir + "/a") }

// What must hold is read, and what does not hold says so and changes nothing.
func TestPreconditions(t *testing.T) {
	dir := t.TempDir()
	filled(t, dir+"/from")
	open, sticky := dir+"/open", dir+"/sticky"
	must(t, errors.Join(os.Mkdir(open, 0o755), os.Chmod(open, 0o777), os.Mkdir(sticky, 0o755), os.Chmod(sticky, 0o777|os.ModeSticky), os.Symlink("from", dir+"/link")))
	sleep := exec.Command("sleep", "600")
	sleep.Dir = filepath.Join(dir, "from/d 1")
	must(t, sleep.Start())
	defer func() { sleep.Process.Kill(); sleep.Wait() }()
	for want, a := range map[string]change.Act{
		"from already exists":         aDirectory(dir + "/from"),
		"link already exists":         aDirectory(dir + "/link"),
		"from is in use by":           {Copy: &change.Copy{From: dir + "/from", To: dir + "/to", Unused: true}},
		"open is writable by":         {Copy: &change.Copy{From: dir + "/from", To: open + "/to"}},
		"users other than root":       {Copy: &change.Copy{From: dir + "/from", To: sticky + "/to"}},
		"is not a directory, or is a": {Copy: &change.Copy{From: dir + "/open", To: dir + "/link/to"}},
		"not a directory that can be": {Copy: &change.Copy{From: dir + "/from", To: dir + "/from/to"}},
		"link is not a directory":     {Copy: &change.Copy{From: dir + "/link", To: dir + "/to"}},
	} {
		was := everything(t, dir)
		c := onDisk(t, dir, a)
		draft, err := c.draft(t.Context())
		if err == nil {
			_, err = c.executor(c.Doer).Apply(t.Context(), draft, change.ApplyOptions{})
		}
		if err == nil || !strings.Contains(err.Error(), want) || everything(t, dir) != was {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// A user's file that turns into a link to another's, while root copies, is not
// read with root's rights.
func TestCopyReadsWithTheRightsOfTheOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to be tricked")
	}
	dir := t.TempDir()
	filled(t, dir+"/from")
	secret := dir + "/secret"
	if err := errors.Join(os.Mkdir(secret, 0o700), os.WriteFile(secret+"/small", []byte("secret"), 0o600), os.Mkdir(dir+"/from/sub", 0o755),
		os.WriteFile(dir+"/from/sub/small", []byte("theirs"), 0o644), os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("chown", "-R", "nobody", dir+"/from").CombinedOutput(); err != nil {
		t.Skipf("needs a user nobody: %s", out)
	}
	c := onDisk(t, dir, aCopy(dir))
	c.Doer = &swapping{dying: newDying(c.Doer, death{}), sub: dir + "/from/sub", to: secret}
	draft, err := c.draft(t.Context())
	must(t, err)
	_, err = c.executor(c.Doer).Apply(t.Context(), draft, change.ApplyOptions{})
	if err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("%v", err)
	}
	if out, _ := exec.Command("grep", "-rl", "secret", dir+"/to", dir).Output(); strings.TrimSpace(string(out)) != secret+"/small" {
		t.Errorf("the secret is in %s", out)
	}
}

// swapping puts a link in the place of a directory once its files are listed.
type swapping struct {
	*dying
	sub, to string
	done    bool
}

func (s *swapping) Step(ctx context.Context, op, name string, do func() error) error {
	if !s.done {
		s.done = true
		if err := errors.Join(os.Rename(s.sub, s.sub+".away"), os.Symlink(s.to, s.sub)); err != nil {
			return err
		}
	}
	return s.dying.Step(ctx, op, name, do)
}

// counting counts the files that are copied.
type counting struct {
	*dying
	files int
}

func (s *counting) Step(ctx context.Context, op, name string, do func() error) error {
	if op == "copy" {
		s.files++
	}
	return s.dying.Step(ctx, op, name, do)
}

// A copy that was killed does not copy again what was noted as done.
func TestCopyGoesOnWhereItWas(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(dir+"/from", 0o755))
	for i := range 300 {
		write(t, fmt.Sprintf("%s/from/%03d", dir, i), "small")
	}
	filled(t, dir+"/from/large")
	c := onDisk(t, dir, aCopy(dir))
	draft, err := c.draft(t.Context())
	must(t, err)
	// Begin, plan, intent, the directory and who it is; 256 files and what is noted of
	// them; 44 more; seven for what comes before the large file.
	d := newDying(c.Doer, death{5 + 256 + 2 + 44 + 7 + 1, after})
	out, err := c.executor(d).Apply(t.Context(), draft, change.ApplyOptions{})
	if err == nil || !d.dead.Load() {
		t.Fatalf("it did not die: %v", err)
	}
	count := &counting{dying: newDying(c.Doer, death{})}
	must(t, c.executor(count).Resume(t.Context(), out.Number))
	if count.files > 50 {
		t.Errorf("going on copied %d files", count.files)
	}
	if a, b := everything(t, dir+"/from"), everything(t, dir+"/to"); a != b {
		t.Errorf("the copy is\n%s\nof\n%s", b, a)
	}
}
