package backup

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"golang.org/x/sys/unix"

	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/btrfs"
	"plumb/internal/btrfs/btrfstest"
	"plumb/internal/hint"
	"plumb/internal/protect"
	"plumb/internal/stack"
	"plumb/internal/storage/point"
	"plumb/test/sandbox"
)

// field is two filesystems of btrfs: one with the subvolumes of a server, and one to restore to; and a store.
type field struct {
	keep
	from, to string
	uuid     string // of the first
	points   int
}

func newField(t *testing.T, megabytes int) *field {
	t.Helper()
	box := sandbox.ForTest(t, "")
	f := &field{keep: newKeep(t), from: box.RootBtrfs(t, "from", 512), to: box.RootBtrfs(t, "to", megabytes)}
	f.uuid = strings.TrimSpace(sh(t, "findmnt", "-n", "-o", "UUID", f.from))
	for _, name := range []string{"data", "log"} {
		sh(t, "btrfs", "subvolume", "create", filepath.Join(f.from, name))
	}
	return f
}

// point changes files, and takes a point as plumb snapshot does: it is tried with real servers in test/points.
func (f *field) point(t *testing.T) protect.Point {
	t.Helper()
	f.points++
	p := protect.Point{Form: protect.Form, ID: fmt.Sprintf("20261126T12000%dZ-000%d", f.points, f.points), State: protect.Taken, Label: protect.Crash, Server: protect.Server{Ref: stack.Ref{Kind: "mysql", Name: "3306"}, Product: "MariaDB 10.11.19"}}
	var vols []protect.Volume
	for _, name := range []string{"data", "log"} {
		text := strings.Repeat(fmt.Sprintf("%s of point %d, ", name, f.points), 60_000)
		must(t, os.WriteFile(filepath.Join(f.from, name, fmt.Sprintf("file%d", f.points)), []byte(text), 0o600))
		vols = append(vols, protect.Volume{Storage: "btrfs", Name: "/" + name, Pool: f.uuid, Mountpoint: filepath.Join(f.from, name)})
	}
	// What a server does to its files: links, holes, renames, ranges that two files share.
	sh(t, "sh", "-ec", fmt.Sprintf("cd %s/data; cp --reflink=always file%d shared%[2]d; ln file%[2]d hard%[2]d; ln -s file%[2]d soft%[2]d; truncate -s 5M hole%[2]d; mkdir dir%[2]d; mv hole%[2]d dir%[2]d/", f.from, f.points))
	must(t, unix.Setxattr(fmt.Sprintf("%s/data/dir%d", f.from, f.points), "user.plumb", []byte("b"), 0))
	var err error
	p.Members, err = point.Btrfs{}.Snapshot(t.Context(), f.b.Do, vols, protect.SnapshotName(p.ID), nil)
	must(t, err)
	return p
}

// clean wants nothing in the second filesystem but what is named, and no book.
func (f *field) clean(t *testing.T, but ...string) {
	t.Helper()
	all, err := os.ReadDir(f.to)
	must(t, err)
	var names []string
	for _, e := range all {
		names = append(names, e.Name())
	}
	if strings.Join(names, " ") != strings.Join(but, " ") {
		t.Errorf("there are %q, want %q", names, but)
	}
	if books, _ := filepath.Glob(f.books + "/*.book"); len(books) > 0 {
		t.Errorf("there are the books %q", books)
	}
}

// same compares the snapshots of a point with what was restored, with owners, modes, times and attributes.
func (f *field) same(t *testing.T, p protect.Point, target string) {
	t.Helper()
	for i, name := range []string{"data", "log"} {
		if want, got := listing(t, filepath.Join(f.from, p.Members[i].Snapshot)), listing(t, filepath.Join(target, name)); want != got {
			t.Errorf("%s holds\n%s\nand was to hold\n%s", name, got, want)
		}
	}
}

// listing says all of a tree: names, kinds, modes, owners, sizes, times, numbers of links, where links lead, attributes and contents.
func listing(t *testing.T, root string) string {
	t.Helper()
	out := sh(t, "sh", "-ec", "cd "+root+"; find . -printf '%P %y %m %U:%G %s %T@ %n %l\\n' | sort; find . -type f -print0 | sort -z | xargs -0 sha256sum")
	value := make([]byte, 10)
	dirs, err := filepath.Glob(root + "/dir*")
	must(t, err)
	for _, dir := range dirs {
		n, err := unix.Getxattr(dir, "user.plumb", value)
		must(t, err)
		out += filepath.Base(dir) + " " + string(value[:n]) + "\n"
	}
	return out
}

func TestChainOnBtrfs(t *testing.T) {
	f := newField(t, 512)
	sh(t, "sh", "-ec", "head -c 20M /dev/urandom > "+f.from+"/data/large") // more than all that changes, or a new chain begins
	var results []backup.Result
	var points []protect.Point
	for range 3 {
		points = append(points, f.point(t))
		results = append(results, f.up(t, points[len(points)-1], false))
	}
	for i, r := range results {
		if i == 0 && (r.Streams[0].Base != nil || r.Whole != "") || i > 0 && (r.Streams[0].Base == nil || r.Streams[0].Base.Backup != results[i-1].ID) {
			t.Errorf("backup %d begins at %+v (%s)", i, r.Streams[0].Base, r.Whole)
		}
		if r.Streams[0].Kind != manifest.Btrfs || r.Streams[0].Name != "/data" || r.Streams[1].Name != "/log" {
			t.Errorf("its streams are %+v", r.Streams)
		}
	}
	m, err := f.vault.Find(t.Context(), "latest", "mysql:3306")
	must(t, err)
	target := filepath.Join(f.to, "restored")
	all, err := f.restore().Subvolumes(t.Context(), m, target)
	if err != nil || len(all) != 2 || all[0].Dataset != target+"/data" || all[0].GUID != points[2].Members[0].GUID {
		t.Fatalf("%+v, %v", all, err)
	}
	f.same(t, points[2], target)
	f.clean(t, "restored")
	if st, err := os.Stat(target); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	must(t, os.WriteFile(target+"/data/new", []byte("x"), 0o600))
	if s := btrfs.ParseShow([]byte(sh(t, btrfs.Show(target+"/data")...))); s.Received != "" || s.ReadOnly {
		t.Errorf("what was restored says of itself %+v", s)
	}
	if _, err := f.restore().Subvolumes(t.Context(), m, target); err == nil || !strings.Contains(err.Error(), "is there") {
		t.Errorf("over what is there: %v", err)
	}
	// an older one, beside it
	if _, err := f.restore().Subvolumes(t.Context(), results[1].Manifest, target+"-older"); err != nil {
		t.Fatal(err)
	}
	f.same(t, points[1], target+"-older")
	if _, err := f.restore().Datasets(t.Context(), m, "tank/restored"); err == nil || !strings.Contains(hint.Of(err), "of btrfs") {
		t.Errorf("to a dataset: %v", err)
	}
}

// A point that was pruned is nothing to begin at: the backup is whole again, and says so.
func TestParentPrunedOnBtrfs(t *testing.T) {
	f := newField(t, 512)
	first := f.point(t)
	old := f.up(t, first, false)
	must(t, point.Btrfs{}.Destroy(t.Context(), f.b.Do, first.Members[:1]))
	second := f.point(t)
	res := f.up(t, second, false)
	if res.Streams[0].Base != nil || res.Streams[1].Base != nil || !strings.Contains(res.Whole, old.ID+" can be sent: this host no longer has all of its snapshots") {
		t.Errorf("%+v: %q", res.Streams, res.Whole)
	}
	if res := f.up(t, f.point(t), true); res.Streams[0].Base != nil || res.Whole != "" {
		t.Errorf("a full one that was asked for: %+v: %q", res.Streams, res.Whole)
	}
}

// A snapshot that somebody wrote to is not the one that was sent, whatever it is called and has for a UUID.
func TestParentChangedOnBtrfs(t *testing.T) {
	f := newField(t, 512)
	first := f.point(t)
	f.up(t, first, false)
	at := filepath.Join(f.from, first.Members[0].Snapshot)
	sh(t, "sh", "-ec", "btrfs property set "+at+" ro false; echo other >> "+at+"/file1; btrfs property set "+at+" ro true")
	job, err := f.job(t.Context(), f.point(t), false)
	must(t, err)
	if _, err := f.b.Run(t.Context(), job); err == nil || !strings.Contains(err.Error(), "was to begin at") || !strings.Contains(hint.Of(err), "--full") {
		t.Errorf("%v (%s)", err, hint.Of(err))
	}
	if all, err := f.vault.List(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("%d backups, %v", len(all), err)
	}
}

// btrfs receive takes any subvolume for the one that a stream begins at that says that it was received from it, and every user can have
// one say so of itself.
func TestParentOfAnotherOnBtrfs(t *testing.T) {
	f := newField(t, 512)
	first := f.point(t)
	f.up(t, first, false)
	sh(t, "sh", "-ec", fmt.Sprintf("mkdir %s/other; btrfs send %s/%s | btrfs receive %[1]s/other", f.to, f.from, first.Members[0].Snapshot))
	res := f.up(t, f.point(t), false)
	if _, err := f.restore().Subvolumes(t.Context(), res.Manifest, f.to+"/restored"); err == nil || !strings.Contains(err.Error(), "onto another subvolume") {
		t.Errorf("it is restored onto somebody's: %v", err)
	}
	f.clean(t, "other")
}

// Nothing that somebody put into the store reaches btrfs receive, and nothing stays of what came before it.
func TestForgedStreamOfBtrfs(t *testing.T) {
	f := newField(t, 512)
	res := f.up(t, f.point(t), false)
	for what, forge := range map[string]func(file string){
		"encrypted for the same key, by another": func(file string) {
			w, err := os.Create(file)
			must(t, err)
			e, err := age.Encrypt(w, f.key.Recipient())
			must(t, err)
			_, err = io.WriteString(e, "anything")
			must(t, err)
			must(t, e.Close())
			must(t, w.Close())
		},
		"gone": func(file string) { must(t, os.Remove(file)) },
		"cut":  func(file string) { must(t, os.Truncate(file, 100)) },
	} {
		for _, chunk := range []int64{0, 2} {
			file := filepath.Join(f.at, manifest.ChunkName(res.ID, 0, chunk))
			good, err := os.ReadFile(file)
			must(t, err)
			forge(file)
			if _, err := f.restore().Subvolumes(t.Context(), res.Manifest, f.to+"/restored"); err == nil {
				t.Errorf("chunk %d is %s, and it is restored", chunk, what)
			}
			f.clean(t)
			must(t, os.WriteFile(file, good, 0o600))
		}
	}
}

// The host that was backed up is somebody else's now, and so is its key: what it signs is still not done outside of the subvolume.
func TestEvilStreamOfBtrfs(t *testing.T) {
	f := newField(t, 512)
	const uuid = "ba36178d-ee23-0443-983f-42e3d5d64982"
	outside := t.TempDir()
	begin := btrfstest.Subvolume("db", uuid, 7)
	for what, stream := range map[string][]byte{
		"a path that leads up":      btrfstest.Stream(begin, btrfstest.File("../../../evil"), btrfstest.End()),
		"an absolute path":          btrfstest.Stream(begin, btrfstest.File(outside+"/evil"), btrfstest.End()),
		"a link that leads out":     btrfstest.Stream(begin, btrfstest.Link("l", outside), btrfstest.File("l/evil"), btrfstest.End()),
		"a link that leads up":      btrfstest.Stream(begin, btrfstest.Link("l", "../../.."), btrfstest.File("l/.evil"), btrfstest.End()),
		"another snapshot":          btrfstest.Stream(btrfstest.Subvolume("db", "aa36178d-ee23-0443-983f-42e3d5d64982", 7), btrfstest.File("evil"), btrfstest.End()),
		"a second subvolume":        btrfstest.Stream(begin, btrfstest.End(), btrfstest.Subvolume("evil", uuid, 7), btrfstest.End()),
		"no end":                    btrfstest.Stream(begin, btrfstest.File("evil")),
		"no stream of btrfs at all": []byte("anything"),
	} {
		file := filepath.Join(t.TempDir(), "stream")
		must(t, os.WriteFile(file, stream, 0o600))
		res, err := f.b.Run(t.Context(), backup.Job{Name: what, Sources: []backup.Source{{Stream: manifest.Stream{Name: "/db", Kind: manifest.Btrfs, GUID: uuid + ":7"}, Argv: []string{"cat", file}}}})
		must(t, err)
		all, err := f.restore().Subvolumes(t.Context(), res.Manifest, f.to+"/restored")
		if err == nil {
			t.Errorf("%s is restored: %+v", what, all)
		}
		t.Logf("%s: %v", what, err)
		f.clean(t)
		if left, _ := os.ReadDir(outside); len(left) > 0 {
			t.Errorf("%s: outside there is %v", what, left)
		}
	}
	// The same way with what is allowed works: it is not refused for something else.
	file := filepath.Join(t.TempDir(), "stream")
	must(t, os.WriteFile(file, btrfstest.Stream(begin, btrfstest.Link("l", outside), btrfstest.File("good"), btrfstest.End()), 0o600))
	res, err := f.b.Run(t.Context(), backup.Job{Name: "good", Sources: []backup.Source{{Stream: manifest.Stream{Name: "/db", Kind: manifest.Btrfs, GUID: uuid + ":7"}, Argv: []string{"cat", file}}}})
	must(t, err)
	_, err = f.restore().Subvolumes(t.Context(), res.Manifest, f.to+"/restored")
	must(t, err)
	if text, err := os.ReadFile(f.to + "/restored/db/good"); err != nil || string(text) != "good" {
		t.Errorf("%q, %v", text, err)
	}
}

// What has not enough room, or is no btrfs, or others can change, is refused before anything is made.
func TestNoPlaceOnBtrfs(t *testing.T) {
	f := newField(t, 128)
	sh(t, "sh", "-ec", "head -c 150M /dev/urandom > "+f.from+"/data/large")
	res := f.up(t, f.point(t), false)
	open := f.to + "/open"
	must(t, os.Mkdir(open, 0o777))
	must(t, os.Chmod(open, 0o777))
	for target, want := range map[string]string{
		f.to + "/restored":      "but the restored data can take",
		open + "/restored":      "other users can change",
		sandbox.Place(t) + "/x": "and this backup is of btrfs",
		f.to + "/a/../b":        "is not the path of a directory",
		"relative":              "is not the path of a directory",
		f.to + "/none/x":        "no such file",
	} {
		if _, err := f.restore().Subvolumes(t.Context(), res.Manifest, target); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want %q, got %v", target, want, err)
		}
	}
	f.clean(t, "open")
}

// TestRestoreToBtrfsKilled kills restores at random. The next one takes away what they left, and what has the name of the target is whole.
func TestRestoreToBtrfsKilled(t *testing.T) {
	f := newField(t, 512)
	f.point(t)
	p := f.point(t)
	sh(t, "sh", "-ec", "head -c 40M /dev/urandom > "+f.from+"/data/large")
	f.up(t, p, false)
	p = f.point(t)
	f.up(t, p, false)
	key := filepath.Join(t.TempDir(), "key.txt")
	must(t, os.WriteFile(key, []byte(f.key.String()+"\n"), 0o600))
	trust := filepath.Join(t.TempDir(), "db1.pub")
	must(t, os.WriteFile(trust, []byte(f.b.Public+"\n"), 0o600))
	state, target := t.TempDir(), f.to+"/restored"
	restore := func() *exec.Cmd {
		return exec.Command(built.Path, "restore", "--from", "file://"+f.at, "--identity", key, "--trust", trust, "--into", target, "--state", state)
	}
	began := time.Now()
	if out, err := restore().CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	took := time.Since(began)
	whole := func() {
		t.Helper()
		f.same(t, p, target)
		for _, name := range []string{"data", "log"} {
			sh(t, "btrfs", "subvolume", "delete", filepath.Join(target, name))
		}
		must(t, os.Remove(target))
	}
	whole()
	f.books = filepath.Join(state, "books")
	killed := 0
	for round := range 12 {
		cmd := restore()
		must(t, cmd.Start())
		timer := time.AfterFunc(took*time.Duration(round+1)/12, func() { _ = cmd.Process.Kill() })
		if cmd.Wait() != nil {
			killed++
		}
		timer.Stop()
		if _, err := os.Stat(target); err == nil {
			whole()
		}
	}
	if out, err := restore().CombinedOutput(); err != nil {
		t.Fatalf("after %d kills: %v: %s", killed, err, out)
	}
	t.Logf("%d of 12 killed, of %v", killed, took)
	f.clean(t, "restored")
	whole()
}

// TestBackupOfBtrfsKilled kills a backup when half of it is in the store: btrfs sends the same again, and what is there is not sent twice.
func TestBackupOfBtrfsKilled(t *testing.T) {
	f := newField(t, 128)
	const size = 64 << 20
	sh(t, "sh", "-ec", fmt.Sprintf("head -c %d /dev/urandom > %s/data/large", size, f.from))
	p := f.point(t)
	points, state := filepath.Join(t.TempDir(), "points"), t.TempDir()
	must(t, protect.Store{Dir: points}.Put(t.Context(), f.b.Do, p))
	backup := func() *exec.Cmd {
		return exec.Command(built.Path, "backup", p.ID, "--to", "file://"+f.at, "--recipient", f.key.Recipient().String(), "--points", points, "--state", state, "--low", "--limit-rate", "32M", "--json")
	}
	first := backup()
	must(t, first.Start())
	objects := func() int {
		all, err := filepath.Glob(f.at + "/backups/*/0/*.zst.age")
		must(t, err)
		return len(all)
	}
	for objects() < size/(2<<20)/2 {
		if !alive(first) {
			t.Fatal("it ended before it was killed")
		}
		time.Sleep(5 * time.Millisecond)
	}
	must(t, first.Process.Kill())
	_ = first.Wait()
	out, err := backup().Output()
	must(t, err)
	var said struct {
		Skipped int64 `json:"skipped_bytes"`
		GoesOn  bool  `json:"resumed"`
	}
	must(t, json.Unmarshal(out, &said))
	if !said.GoesOn || said.Skipped < size*35/100 {
		t.Errorf("it sent all but %d bytes again: %s", said.Skipped, out)
	}
}

// alive tells whether a process has not ended.
func alive(c *exec.Cmd) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.Process.Pid))
	return err == nil && !strings.Contains(string(text), ") Z ")
}
