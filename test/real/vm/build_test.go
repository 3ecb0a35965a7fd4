package vm

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRecipeNamesWhatItMakes(t *testing.T) {
	seen := map[string]string{}
	note := func(what string, r recipe) {
		if other, ok := seen[r.hash()]; ok {
			t.Errorf("%s has the hash of %s", what, other)
		}
		seen[r.hash()] = what
	}
	for _, name := range append(Releases(), Ceph, SELinux) {
		r, err := recipeOf(name)
		if err != nil {
			t.Fatal(err)
		}
		note(name, r)
		if again, _ := recipeOf(name); again.hash() != r.hash() {
			t.Errorf("%s has two hashes", name)
		}
	}
	r, _ := recipeOf(Trixie)
	r.Packages = append(slices.Clone(r.Packages), "fio")
	note("another package", r)
	r, _ = recipeOf(Trixie)
	r.Build += "\n"
	note("another script", r)
	base, _ := recipeOf(Trixie)
	if r, _ := recipeOf(SELinux); r.Base != base.hash() {
		t.Error("the image with SELinux does not begin with that of trixie")
	}
	if _, err := recipeOf("potato"); err == nil || !strings.Contains(err.Error(), Bookworm) {
		t.Errorf("unknown release: %v", err)
	}
}

// TestGuestScriptsAreClean has the shell and shellcheck read them.
func TestGuestScriptsAreClean(t *testing.T) {
	scripts, err := filepath.Glob("guest/*.sh")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("found %q, %v", scripts, err)
	}
	for _, argv := range [][]string{{"sh", "-n"}, {"dash", "-n"}, {"shellcheck", "--severity=style"}} {
		path, err := exec.LookPath(argv[0])
		if err != nil {
			t.Logf("%s is not installed", argv[0])
			continue
		}
		for _, s := range scripts {
			cmd := exec.CommandContext(t.Context(), path, append(argv[1:], s)...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v %s: %v\n%s", argv, s, err, out)
			}
		}
	}
}

// TestInitHasUdevBeforeTheLine: zpool create waits in vain without.
func TestInitHasUdevBeforeTheLine(t *testing.T) {
	at, initScript := -1, initScript+runScript
	for _, word := range []string{"systemd-udevd --daemon", "udevadm settle", "modprobe -q zfs", "plumb-vm up", "bash /in/.vm/line", "plumb-vm exit"} {
		i := strings.LastIndex(initScript, word)
		if word == "plumb-vm exit" { // in a function, which is above its use
			i = strings.LastIndex(initScript, `end "$?"`)
		}
		if i <= at {
			t.Errorf("%q is not where it belongs", word)
		}
		at = i
	}
	if !strings.Contains(initScript, `\036`+lead[1:]) {
		t.Error("the init's marks are not those that are read")
	}
}

func TestProgressTellsPeopleTheirLines(t *testing.T) {
	var log bytes.Buffer
	var said []string
	p := &progress{log: &log, say: func(text string) { said = append(said, text) }}
	for _, piece := range []string{"Get:1 x\nvm: tri", "xie: one\nnot vm: this\n", "vm: two\nvm: begun"} {
		p.Write([]byte(piece))
	}
	if !slices.Equal(said, []string{"trixie: one", "two"}) {
		t.Errorf("said %q", said)
	}
	if !strings.HasSuffix(p.tail(), "begun") || log.Len() != 54 {
		t.Errorf("the log has %d bytes and ends with %q", log.Len(), p.tail())
	}
	p.Write(bytes.Repeat([]byte("y"), 3*tailBytes))
	if len(p.last) != tailBytes || len(p.line) > tailBytes {
		t.Errorf("keeps %d and %d bytes", len(p.last), len(p.line))
	}
}

func TestWorkplacesOfTheKilledGo(t *testing.T) {
	root := t.TempDir()
	first, done, err := workplace(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	killed := filepath.Join(root, "run-killed")
	if err := os.MkdirAll(killed, 0o755); err != nil {
		t.Fatal(err)
	}
	second, alsoDone, err := workplace(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(first); err != nil {
		t.Error("the place of a run that goes on was taken away")
	}
	if _, err := os.Stat(killed); err == nil {
		t.Error("the place of a killed run was left")
	}
	done()
	alsoDone()
	for _, dir := range []string{first, second} {
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s was left", dir)
		}
	}
}

func TestLockWaitsAndGivesUp(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	unlock, err := lock(t.Context(), name, func() { t.Error("waits for nobody") })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	told := 0
	if _, err := lock(ctx, name, func() { told++ }); err == nil || told != 1 {
		t.Errorf("locked twice, or told %d times: %v", told, err)
	}
	unlock()
	unlock, err = lock(t.Context(), name, func() { t.Error("waits for nobody") })
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}
