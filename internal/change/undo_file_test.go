package change

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/internal/edit"
	"plumb/internal/host/hosttest"
)

// What an upgrade or a start of the machine does to what was changed is found before anything is touched; then it can be
// left, and what is gone is made anew by nobody. The knob a was set in the file before, the knob b was not.
func TestUndoOfWhatAnUpgradeOrAStartChanged(t *testing.T) {
	const old = "/etc/toy.conf.dpkg-old"
	for name, c := range map[string]struct {
		knob   string
		meddle func(m *machine)
		drift  string // "" where there is none
		forced string // what the file says after an undo, by force where there is a drift; "" where there is none
	}{
		"the file moved away, with its line": {"a", func(m *machine) { m.rename("/etc/toy.conf", old) }, "/etc/toy.conf a was left as 5 and is gone with its file", ""},
		"the file moved away, with our line": {"b", func(m *machine) { m.rename("/etc/toy.conf", old) }, "", ""},
		"the package's file in its place":    {"a", func(m *machine) { m.rename("/etc/toy.conf", old); m.write("/etc/toy.conf", "# new\n") }, "is not set there as Plumb wrote it", "# new\na = 1\n"},
		"the package's own value":            {"a", func(m *machine) { m.rename("/etc/toy.conf", old); m.write("/etc/toy.conf", "a = 3\n") }, "was left as 5 and is 3", "a = 1\n"},
		"our line in the package's file":     {"a", func(m *machine) { m.rename("/etc/toy.conf", old); m.write("/etc/toy.conf", "# new\na = 5\n") }, "", "# new\na = 1\n"},
		"its directory removed":              {"b", func(m *machine) { m.rename("/etc", "/gone") }, "there is no directory /etc", ""},
		"its directory not mounted":          {"b", func(m *machine) { m.rename("/etc", "/gone"); m.write("/etc/other", "") }, "/etc is another directory", ""},
		"our line taken out by hand":         {"b", func(m *machine) { m.write("/etc/toy.conf", "# by hand\na = 1\n") }, "", "# by hand\na = 1\n"},
		"the line before put back by hand":   {"a", func(m *machine) { m.write("/etc/toy.conf", "# by hand\na=1\n") }, "", "# by hand\na=1\n"},
		"the file cut short in our line":     {"a", func(m *machine) { m.write("/etc/toy.conf", "a =") }, "is not set there as Plumb wrote it", "a =\na = 1\n"},
		"the file cut short before our line": {"b", func(m *machine) { m.write("/etc/toy.conf", "a = 1\n") }, "", "a = 1\n"},
		"the file emptied":                   {"a", func(m *machine) { m.write("/etc/toy.conf", "") }, "is not set there as Plumb wrote it", "a = 1\n"},
		"the value forgotten by a start":     {"a", func(m *machine) { m.write("/run/a", "1\n") }, "", "a = 1\n"},
		"another value since a start":        {"a", func(m *machine) { m.write("/run/a", "8\n") }, "/run/a was left as 5 and is 8", "a = 1\n"},
		"no such setting since a start":      {"a", func(m *machine) { m.rename("/run/a", "/run/no") }, "/run/a was left as 5 and is (none)", "-"},
	} {
		for _, o := range []UndoOptions{{Keep: true}, {Force: true}} {
			m, k, number, _ := changed(t, to(c.knob, 5))
			c.meddle(m)
			meddled := treeOf(t, m.dir)
			err := k.Undo(t.Context(), []int{number}, UndoOptions{})
			if d, ok := errors.AsType[*Drifted](err); c.drift == "" && err != nil || c.drift != "" && (!ok || !strings.Contains(d.Error(), c.drift) || fmt.Sprint(treeOf(t, m.dir)) != fmt.Sprint(meddled)) {
				t.Fatalf("%s: %v", name, err)
			}
			if o.Force && c.forced == "-" {
				continue // where there is no such setting none can be set
			}
			if err := k.Undo(t.Context(), []int{number}, o); err != nil || strings.Trim(strings.NewReplacer("undone", "", "left", "").Replace(m.acts()), " ") != "" {
				t.Errorf("%s, %+v: %v, %s", name, o, err, m.acts())
			}
			text, _ := os.ReadFile(m.dir + "/etc/toy.conf")
			if (o.Force || c.drift == "") && string(text) != c.forced {
				t.Errorf("%s, %+v: the file says %q in place of %q", name, o, text, c.forced)
			}
		}
	}
}

// A link that somebody put in the place of a file stays, and what it leads to no longer sets the value.
func TestUndoThroughALink(t *testing.T) {
	m, k, number, _ := changed(t, to("a", 5))
	m.rename("/etc/toy.conf", "/etc/elsewhere.conf")
	if err := os.Symlink("elsewhere.conf", m.dir+"/etc/toy.conf"); err != nil {
		t.Fatal(err)
	}
	if err := k.Undo(t.Context(), []int{number}, UndoOptions{}); err != nil || m.read("/etc/elsewhere.conf") != "a = 1\n" {
		t.Errorf("%v, %q", err, m.read("/etc/elsewhere.conf"))
	}
	if to, err := os.Readlink(m.dir + "/etc/toy.conf"); err != nil || to != "elsewhere.conf" {
		t.Errorf("the link leads to %q: %v", to, err)
	}
}

// Neither is a link removed in place of the file that it leads to, when nothing is left in that.
func TestUndoOfAFileOfOursThroughALink(t *testing.T) {
	m := newMachine(t)
	name, elsewhere := m.dir+"/etc/plumb.conf", m.dir+"/etc/elsewhere.conf"
	k := &Executor{Doer: hosttest.LiveDoer(t), Dir: m.dir + Directory, Plumb: "test", Now: time.Now}
	set := Act{Edit: &Edit{File: name, Form: edit.OptionFile, Key: "server/a", Value: "9", Ours: true}}
	out, err := k.Apply(t.Context(), Draft{Steps: []Prepared{{Step: to("a", 9), Recipe: Recipe{Acts: []Act{set}}}}}, ApplyOptions{})
	if err := errors.Join(err, os.Rename(name, elsewhere), os.Symlink("elsewhere.conf", name)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(m.read("/etc/elsewhere.conf"), "a = 9") {
		t.Fatalf("it says %q", m.read("/etc/elsewhere.conf"))
	}
	for range 2 {
		if err := k.Undo(t.Context(), []int{out.Number}, UndoOptions{}); err != nil {
			t.Fatal(err)
		}
		if to, err := os.Readlink(name); err != nil || to != "elsewhere.conf" {
			t.Errorf("the link leads to %q: %v", to, err)
		}
		if text := m.read("/etc/elsewhere.conf"); strings.Contains(text, "9") {
			t.Errorf("it still says %q", text)
		}
	}
}

// A link that leads nowhere, in the place of a file or of its directory, hides the file: it counts as gone only with --force.
func TestUndoBehindALinkThatLeadsNowhere(t *testing.T) {
	for _, link := range []string{"/etc", "/etc/own.conf"} {
		for _, back := range []bool{false, true} {
			dir := t.TempDir()
			at, disk := dir+link, dir+"/disk"+link
			err := errors.Join(os.MkdirAll(dir+"/disk/etc", 0o755), os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(dir+"/disk/etc/own.conf", []byte("# by hand\n"), 0o644), os.Symlink(disk, at))
			if err != nil {
				t.Fatal(err)
			}
			k := real(t, hosttest.LiveDoer(t), dir+"/plumb")
			number, err := applied(t, k, Act{Edit: &Edit{File: dir + "/etc/own.conf", Form: edit.Sysctl, Key: "a", Value: "9"}})
			if err := errors.Join(err, os.Rename(dir+"/disk", dir+"/unmounted")); err != nil {
				t.Fatal(err)
			}
			err = k.Undo(t.Context(), []int{number}, UndoOptions{})
			if d, ok := errors.AsType[*Drifted](err); !ok || !strings.Contains(d.Error(), "the link "+at+" leads nowhere") {
				t.Fatalf("%s: %v", link, err)
			}
			state := Left
			if back {
				state = Undone
				if err := os.Rename(dir+"/unmounted", dir+"/disk"); err != nil {
					t.Fatal(err)
				}
			}
			err = k.Undo(t.Context(), []int{number}, UndoOptions{Keep: !back})
			if all, failed := k.Changes(t.Context()); errors.Join(err, failed) != nil || all[0].Acts[0].State != state {
				t.Errorf("%s: %v, %v", link, errors.Join(err, failed), all)
			}
			if back && got(t, dir+"/etc/own.conf") != "# by hand" {
				t.Errorf("%s: it says %q", link, got(t, dir+"/etc/own.conf"))
			}
		}
	}
}

// An earlier Plumb wrote down of a directory only that it was a link: where that leads somewhere, the file is looked for there.
func TestHiddenBehindALinkOfAnEarlierPlumb(t *testing.T) {
	dir := t.TempDir()
	e := &Edit{File: dir + "/etc/own.conf", Form: edit.Sysctl, Key: "a", Value: "9"}
	if err := errors.Join(os.Mkdir(dir+"/disk", 0o755), os.Symlink("disk", dir+"/etc")); err != nil {
		t.Fatal(err)
	}
	d := hosttest.LiveDoer(t)
	if why, err := e.hidden(t.Context(), d, aLink); err != nil || why != "" {
		t.Errorf("%q, %v", why, err)
	}
	if err := os.Remove(dir + "/disk"); err != nil {
		t.Fatal(err)
	}
	if why, err := e.hidden(t.Context(), d, aLink); err != nil || !strings.Contains(why, "leads nowhere") {
		t.Errorf("%q, %v", why, err)
	}
}
