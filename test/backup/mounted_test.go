package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plumb/internal/await"
	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/hint"
	"plumb/internal/protect"
	"plumb/internal/zfs"
	"plumb/test/mortal"
	"plumb/test/sandbox"
)

// mounting mounts the datasets of a point in /srv of what it is restored to.
func mounting(t *testing.T, p protect.Point) backup.Mounting {
	t.Helper()
	to := backup.Mounting{Where: map[string]string{}, Born: map[string]string{}}
	for _, m := range p.Members {
		to.Where[m.Name] = "/srv/" + path.Base(m.Name)
		to.Born[m.Name] = strings.TrimSpace(sh(t, zfs.Value("createtxg", m.Snapshot)...))
	}
	return to
}

// newMounts is a ground with a dataset to restore below, which is mounted where nobody else can change the way.
func newMounts(t *testing.T) (g *ground, target, at string) {
	t.Helper()
	at = sandbox.Directory(t, "restored") // before the pool, so that it goes when nothing is mounted there
	g = newGround(t)
	target = g.pool.Name + "/restored"
	sh(t, "zfs", "create", "-o", "canmount=off", "-o", "mountpoint="+at+"/r", target)
	return g, target, at
}

// patiently runs a command of ZFS while that calls something busy.
func patiently(t *testing.T, argv ...string) {
	t.Helper()
	must(t, await.WhileBusy(t.Context(), time.Minute, func() error {
		out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		return err
	}))
}

// TestSourceIsNoRestore changes nothing in the datasets that were backed up, which have all snapshots of the backup and no others, nor
// takes them back to those, whatever they are called by now: what was written since would be gone.
func TestSourceIsNoRestore(t *testing.T) {
	g, _, at := newMounts(t)
	g.write(t, 1)
	p := g.point(t, "20261125T120000Z-0001")
	res, to := g.up(t, p, false), mounting(t, p)
	g.write(t, 2)
	want := sums(t, g.pool.Dir+"/db/data") + sums(t, g.pool.Dir+"/db/log")
	for _, name := range []string{"db", "moved"} {
		target := g.pool.Name + "/" + name
		if name != "db" {
			patiently(t, zfs.Rename(g.pool.Name+"/db", target)...)
			sh(t, "zfs", "set", "mountpoint="+at+"/moved", target)
			must(t, os.Chown(at+"/moved", 0, 0))
		}
		_, err := g.restore().Mounted(t.Context(), res.Manifest, target, to, func(root string) error {
			t.Errorf("%s is changed in %s", target, root)
			return errors.New("no")
		})
		if err == nil || !strings.Contains(err.Error(), target+"/data has the very snapshot that was backed up") || !strings.Contains(hint.Of(err), "name another dataset") {
			t.Errorf("%v, hint %q", err, hint.Of(err))
		}
		if got := g.content(t, target+"/data") + g.content(t, target+"/log"); got != want {
			t.Errorf("%s no longer has what was written since", target)
		}
	}
}

// TestBelowAnAlternateRoot mounts what is restored to a pool that was imported under another directory, as on a machine that was started
// to rescue another: ZFS shows the directory, and adds it to what it is given.
func TestBelowAnAlternateRoot(t *testing.T) {
	alt := sandbox.Directory(t, "altroot")
	g := newGround(t)
	g.write(t, 1)
	p := g.point(t, "20261125T120000Z-0001")
	res, to := g.up(t, p, false), mounting(t, p)
	want := sums(t, g.pool.Dir+"/db/data") + sums(t, g.pool.Dir+"/db/log")
	other, err := g.make(128)
	must(t, err)
	patiently(t, "zpool", "export", other.Name)
	sh(t, "zpool", "import", "-d", filepath.Dir(other.Files[0]), "-R", alt, other.Name)
	at := ""
	all, err := g.restore().Mounted(t.Context(), res.Manifest, other.Name+"/restored", to, func(root string) error {
		at = root
		if got := sums(t, root+"/srv/data") + sums(t, root+"/srv/log"); got != want {
			t.Errorf("%s holds something else", root)
		}
		return nil
	})
	must(t, err)
	if !strings.HasPrefix(at, alt+other.Dir+"/restored/") || len(all) != 2 {
		t.Errorf("%d datasets are mounted in %s", len(all), at)
	}
	if point := strings.TrimSpace(sh(t, zfs.Value("mountpoint", all[0].Dataset)...)); point != at+"/srv/data" {
		t.Errorf("%s is mounted at %s", all[0].Dataset, point)
	}
}

// TestMountedWithoutPower backs up a device and a program that gains rights: neither is one where it is restored for a server's user. Below a
// dataset that shows its snapshots among its files, too, all files are that user's.
func TestMountedWithoutPower(t *testing.T) {
	g, target, _ := newMounts(t)
	g.write(t, 1)
	must(t, unix.Mknod(g.pool.Dir+"/db/data/null", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))))
	program := g.pool.Dir + "/db/log/program"
	must(t, os.WriteFile(program, nil, 0o755))
	must(t, os.Chmod(program, 0o755|os.ModeSetuid))
	p := g.point(t, "20261125T120000Z-0001")
	res, to := g.up(t, p, false), mounting(t, p)
	sh(t, "zfs", "set", "snapdir=visible", target)
	to.Owner = "12345:12346"
	all, err := g.restore().Mounted(t.Context(), res.Manifest, target, to, func(root string) error {
		if is := strings.TrimSpace(sh(t, "stat", "-c", "%u:%g", root+"/srv/data/file1")); is != to.Owner {
			t.Errorf("file1 is of %s", is)
		}
		if f, err := os.OpenFile(root+"/srv/data/null", os.O_WRONLY, 0); err == nil {
			f.Close()
			t.Error("a device can be opened")
		} else if !errors.Is(err, fs.ErrPermission) {
			t.Error(err)
		}
		for _, dir := range []string{"/srv/data", "/srv/log"} {
			if options := sh(t, "findmnt", "-n", "-o", "OPTIONS", "-M", root+dir); !strings.Contains(options, "nosuid") || !strings.Contains(options, "nodev") {
				t.Errorf("%s is mounted with %s", dir, options)
			}
		}
		return nil
	})
	must(t, err)
	for _, one := range all { // whoever mounts them later, as the start of the machine
		for _, name := range []string{"devices", "setuid"} {
			if is := strings.TrimSpace(sh(t, zfs.Value(name, one.Dataset)...)); is != "off" {
				t.Errorf("%s has %s=%s", one.Dataset, name, is)
			}
		}
	}
}

// TestStreamsThatAreNotMeant: what a host that we trusted has signed, and is no stream of the snapshot that it names, is received by nobody.
// What zfs send -R makes could change other datasets.
func TestStreamsThatAreNotMeant(t *testing.T) {
	g := newGround(t)
	g.write(t, 1)
	p := g.point(t, "20261125T120000Z-0001")
	target := g.pool.Name + "/restored"
	for want, argv := range map[string][]string{
		"not a stream of one snapshot": {"zfs", "send", "-R", p.Members[0].Snapshot},
		"and the manifest says":        {"zfs", "send", p.Members[1].Snapshot},
	} {
		job, err := g.job(t.Context(), p, true)
		must(t, err)
		job.Name, job.Sources[0].Argv = want, argv
		res, err := g.b.Run(t.Context(), job)
		must(t, err)
		if _, err := g.restore().Datasets(t.Context(), res.Manifest, target); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", argv, err)
		}
		if out, err := exec.Command("zfs", "list", "-H", "-o", "name", target+"/data").Output(); err == nil {
			t.Errorf("%q: there is %s", argv, out)
		}
	}
}

// TestTakenBackForALaterBackup restores a backup over what a killed restore of an earlier one was changing, on which it builds: that is taken
// back to the earlier one, and goes on from there.
func TestTakenBackForALaterBackup(t *testing.T) {
	g, target, _ := newMounts(t)
	g.write(t, 1)
	p := g.point(t, "20261125T120000Z-0001")
	first, to := g.up(t, p, false), mounting(t, p)
	g.write(t, 2)
	p = g.point(t, "20261125T130000Z-0002")
	second := g.up(t, p, false)
	if second.Streams[0].Base == nil {
		t.Fatal("it does not build on the first")
	}
	want := sums(t, g.pool.Dir+"/db/data")
	all, err := g.restore().Mounted(t.Context(), first.Manifest, target, to, func(root string) error {
		return os.WriteFile(root+"/srv/data/changed", nil, 0o600)
	})
	must(t, err)
	for _, one := range all {
		sh(t, "zfs", "set", "org.plumb:moment=replaying", one.Dataset) // as one that is killed leaves it
	}
	_, err = g.restore().Mounted(t.Context(), second.Manifest, target, mounting(t, p), func(root string) error {
		if sums(t, root+"/srv/data") != want {
			t.Errorf("%s holds something else", root)
		}
		return nil
	})
	must(t, err)
}

// mountedLife restores a backup to datasets, mounts them, and changes one.
func mountedLife(ctx context.Context, r backup.Restore, m *mortal.Machine, of manifest.Manifest, target string) error {
	to := backup.Mounting{Where: map[string]string{}}
	for _, s := range of.Streams {
		to.Where[s.Name] = "/srv/" + path.Base(s.Name)
	}
	_, err := r.Mounted(ctx, of, target, to, func(root string) error {
		_, err := m.Run(ctx, "sh", "-ec", `echo changed >>"$1/changed"; sync -f "$1"`, "sh", root+"/srv/data")
		return err
	})
	return err
}

// TestMountedDies has the machine die before and after operations of a restore that changes what it has received: some of them, and all when
// all tests are asked for. The next one takes back what was changed, and changes it once, unless the one before had ended.
func TestMountedDies(t *testing.T) {
	g, target, at := newMounts(t)
	g.write(t, 1)
	g.up(t, g.point(t, "20261125T120000Z-0001"), false)
	g.write(t, 2)
	g.up(t, g.point(t, "20261125T130000Z-0002"), false)
	data, log := sums(t, g.pool.Dir+"/db/data"), sums(t, g.pool.Dir+"/db/log")
	life := func(at int, how string) int {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), envLife+"="+strings.Join([]string{g.at, g.key.String(), g.b.Public, g.books, target}, ","))
		return mortal.Live(t, c, at, how)
	}
	marks := func() string {
		return sh(t, "zfs", "get", "-H", "-r", "-s", "local", "-o", "value", "org.plumb:moment", target)
	}
	whole := func() {
		t.Helper()
		if is := marks(); is != "replayed\nreplayed\n" {
			t.Errorf("the datasets say %q", is)
		}
		root := strings.TrimSuffix(strings.TrimSpace(sh(t, zfs.Value("mountpoint", target+"/data")...)), "/srv/data")
		if text, err := os.ReadFile(root + "/srv/data/changed"); string(text) != "changed\n" || !strings.HasPrefix(root, at+"/r/") {
			t.Errorf("in %s it was changed to %q, %v", root, text, err)
		}
		must(t, os.Remove(root+"/srv/data/changed"))
		if sums(t, root+"/srv/data") != data || sums(t, root+"/srv/log") != log {
			t.Errorf("%s holds something else", root)
		}
		for _, name := range []string{"/data", "/log"} {
			patiently(t, "zfs", "destroy", "-r", target+name)
		}
		must(t, os.RemoveAll(at+"/r"))
	}
	n := life(0, "never")
	whole()
	every := 17 // which are enough to see that the way is there
	switch {
	case sandbox.Full():
		every = 1
	case os.Getenv("PLUMB_REAL") != "":
		every = 5
	}
	t.Logf("%d operations", n)
	again := func() { // as a person says who wants it taken back
		t.Helper()
		for _, name := range []string{"/data", "/log"} {
			sh(t, "zfs", "set", "org.plumb:moment=replaying", target+name)
		}
	}
	mortal.Ways(t, n, every, func(at int, how string) {
		if at%2 == 0 { // it dies while it takes back what one before has changed, too
			life(0, "never")
			again()
		}
		life(at, how)
		if strings.Contains(marks(), "replayed") { // it had ended
			again()
		}
		life(0, "never")
		whole()
		if t.Failed() {
			t.Logf("it died %s operation %d", how, at)
		}
	})
}
