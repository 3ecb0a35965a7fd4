package packages

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"plumb/internal/host/hosttest"
	"plumb/internal/inventory"
	"plumb/internal/inventory/kinds"
)

func debState() string {
	out, _ := os.ReadFile("/var/lib/dpkg/status")
	for entry := range strings.SplitSeq(string(out), "\n\n") {
		if rest, ok := strings.CutPrefix(entry, "Package: plumb\n"); ok {
			_, status, _ := strings.Cut(rest, "Status: ")
			status, _, _ = strings.Cut(status, "\n")
			return status
		}
	}
	return ""
}

func wantState(t *testing.T, want string) {
	t.Helper()
	if got := debState(); !strings.HasSuffix(got, want) {
		t.Errorf("dpkg says %q, want %q", got, want)
	}
}

func installDeb(t *testing.T) {
	t.Helper()
	does(t, "dpkg", "--no-triggers", "--install", one(t, "/packages", "*.deb"))
}

func purge(t *testing.T) {
	t.Helper()
	does(t, "dpkg", "--no-triggers", "--purge", "plumb")
	wantState(t, "")
	for _, name := range []string{journals, "/usr/bin/plumb", "/usr/share/doc/plumb", "/usr/share/man/man1/plumb.1.gz", "/var/lib/dpkg/info/plumb.list"} {
		if exists(name) {
			t.Errorf("%s is left after the purge", name)
		}
	}
}

func TestDebInstallsRunsAndGoes(t *testing.T) {
	if !inRootOfItsOwn(t, "dpkg") {
		return
	}
	installDeb(t)
	wantState(t, "install ok installed")
	works(t)
	if out := does(t, "dpkg", "--verify", "plumb"); out != "" {
		t.Errorf("dpkg --verify: %s", out)
	}
	does(t, "dpkg", "--no-triggers", "--remove", "plumb")
	if exists("/usr/bin/plumb") || exists(journals) {
		t.Error("removed where nothing was recorded, it leaves its program or its directory")
	}
	purge(t)
}

// TestDebKeepsWhatCanBeUndone goes all ways out: a purge at once, a purge after
// it was removed, and the one that succeeds, after an undo.
func TestDebKeepsWhatCanBeUndone(t *testing.T) {
	if !inRootOfItsOwn(t, "dpkg") {
		return
	}
	installDeb(t)
	change(t)
	journal := journals + "/change-000001.journal"
	was := string(read(t, journal))
	says := []string{"plumb is not purged", "change 1 of ", "is in force: plumb undo 1", "hint: "}

	refuses(t, says, "dpkg", "--no-triggers", "--purge", "plumb")
	wantState(t, " ok installed")
	works(t)
	for _, argv := range [][]string{{"purge", "plumb"}, {"remove", "--purge", "plumb"}} {
		if !exists("/usr/bin/apt-get") {
			break
		}
		refuses(t, append(says, "run what is listed, then purge"), append([]string{"apt-get", "-y"}, argv...)...)
		wantState(t, " ok installed")
		works(t)
		if string(read(t, journal)) != was {
			t.Error("the refused purge touched the journal")
		}
	}

	installDeb(t)
	installDeb(t) // over itself, as an upgrade does
	if exists("/usr/bin/apt-get") {
		does(t, "apt-get", "-y", "remove", "plumb")
		wantState(t, " ok config-files")
		installDeb(t)
	}
	if out := does(t, "dpkg", "--no-triggers", "--remove", "plumb"); !strings.Contains(out, "plumb undo 1") {
		t.Errorf("removed, it does not say what stays: %s", out)
	}
	if exists("/usr/bin/plumb") || string(read(t, journal)) != was {
		t.Error("removing left the program, or touched the journal")
	}
	refuses(t, append(says, "install plumb again"), "dpkg", "--no-triggers", "--purge", "plumb")
	if string(read(t, journal)) != was {
		t.Error("the refused purge touched the journal")
	}

	installDeb(t)
	takenBack(t)
	purge(t)
}

// TestDebDoesNotTrustAnOldAnswer changes the records while there is no plumb
// that could be asked.
func TestDebDoesNotTrustAnOldAnswer(t *testing.T) {
	if !inRootOfItsOwn(t, "dpkg") {
		return
	}
	installDeb(t)
	change(t)
	journal := journals + "/change-000001.journal"
	open := read(t, journal)
	takenBack(t)
	undone := read(t, journal)
	does(t, "dpkg", "--no-triggers", "--remove", "plumb")

	must(t, os.WriteFile(journal, open, 0o600))
	refuses(t, []string{"have changed since it was removed", "hint: install plumb again"}, "dpkg", "--no-triggers", "--purge", "plumb")
	must(t, os.WriteFile(journal, undone, 0o600))
	must(t, os.Rename(journals+"/leftovers", "/packages/leftovers"))
	refuses(t, []string{"nobody asked", "hint: install plumb again"}, "dpkg", "--no-triggers", "--purge", "plumb")
	must(t, os.Rename("/packages/leftovers", journals+"/leftovers"))
	purge(t)
}

// TestDebKeepsWhatALabMade has a lab that runs, and then one that died.
func TestDebKeepsWhatALabMade(t *testing.T) {
	if !inRootOfItsOwn(t, "dpkg") {
		return
	}
	installDeb(t)
	h := hosttest.LiveDoer(t)
	tree := "/packages/lab"
	book, err := kinds.Books(h, inventory.Directory).Open(t.Context(), "run1")
	must(t, err)
	_, err = book.Make(t.Context(), inventory.Thing{Kind: inventory.Tree, Name: tree}, func(*inventory.Thing) error {
		if err := os.Mkdir(tree, 0o700); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(tree, inventory.Marker), []byte("run1\n"), 0o600)
	})
	must(t, err)
	refuses(t, []string{"plumb is not removed", "lab run1 is still running, with 1 thing", "hint: "}, "dpkg", "--no-triggers", "--remove", "plumb")
	wantState(t, " ok installed")

	dead := read(t, inventory.Directory+"/run1.book")
	must(t, os.Rename(tree, tree+".kept")) // the lab ends, and finds nothing to take away
	must(t, book.Close(t.Context()))
	must(t, os.Rename(tree+".kept", tree))
	must(t, os.WriteFile(inventory.Directory+"/run1.book", dead, 0o600))
	refuses(t, []string{"plumb is not purged", "lab run1 left 1 thing: plumb lab sweep", "hint: "}, "dpkg", "--no-triggers", "--purge", "plumb")

	does(t, "plumb", "lab", "sweep", "--yes")
	if exists(tree) {
		t.Error("the sweep left what the lab made")
	}
	purge(t)
}

// TestDebKeepsWhatLives has something that is meant to outlive every run: a
// purge would take away the only word of whose it is.
func TestDebKeepsWhatLives(t *testing.T) {
	if !inRootOfItsOwn(t, "dpkg") {
		return
	}
	installDeb(t)
	file := "/packages/kept"
	must(t, os.WriteFile(file, []byte("data"), 0o600))
	st, err := os.Stat(file)
	must(t, err)
	does(t, "plumb", "inventory", "adopt", "file", file, "--id", strconv.FormatUint(st.Sys().(*syscall.Stat_t).Ino, 10))
	says := []string{"plumb is not purged", "file /packages/kept is to be kept: plumb inventory remove file /packages/kept", "hint: "}
	refuses(t, says, "dpkg", "--no-triggers", "--purge", "plumb")
	wantState(t, " ok installed")

	if out := does(t, "dpkg", "--no-triggers", "--remove", "plumb"); !strings.Contains(out, "is to be kept") {
		t.Errorf("removed, it does not say what stays: %s", out)
	}
	refuses(t, append(says, "install plumb again"), "dpkg", "--no-triggers", "--purge", "plumb")
	if !exists(file) {
		t.Error("a refused purge took the thing away")
	}

	installDeb(t)
	does(t, "plumb", "inventory", "remove", "file", file, "--yes")
	if exists(file) {
		t.Error("it is there although it was removed")
	}
	purge(t)
}
