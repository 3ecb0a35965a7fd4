package archive

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// back backs a file up that somebody made, as a host does that is another's by now and still has its key.
func (s *site) back(file string, text []byte) {
	s.t.Helper()
	must(s.t, os.WriteFile(file, text, 0o600))
	s.plumb(0, append([]string{"backup", "--command", "cat " + file, "--name", filepath.Base(file), "--to", s.url, "--recipient", s.recipient, "--state", s.state}, s.more...)...)
}

// refused sees that a restore is refused, and leaves nothing.
func (s *site) refused(dir string, want ...string) {
	s.t.Helper()
	says(s.t, s.restore(3, dir, "--to", "latest"), want...)
	if left, _ := filepath.Glob(dir + "*"); len(left) > 0 {
		s.t.Errorf("left: %v", left)
	}
}

// TestPostgreSQLBaseLeadsOut has the base of a host that is trusted, into which somebody put what leads to a server that runs here: a
// link, a link and a file behind it, a name with .., a pipe.
func TestPostgreSQLBaseLeadsOut(t *testing.T) {
	c := newCluster(t, "")
	must(t, c.server.Exec("CREATE TABLE t (i INT)"))
	line := strings.Fields(c.base())
	plain, err := exec.Command(line[0], line[1:]...).Output()
	must(t, err)
	c.archived()
	outside := filepath.Join(c.dir, "outside")
	must(t, os.Mkdir(outside, 0o777))
	must(t, os.Chmod(outside, 0o777))
	dir := filepath.Join(c.dir, "restored")
	for name, evil := range map[string][]tar.Header{
		"link":   {{Name: "base/link", Typeflag: tar.TypeSymlink, Linkname: outside}},
		"behind": {{Name: "behind", Typeflag: tar.TypeSymlink, Linkname: outside}, {Name: "behind/file", Typeflag: tar.TypeReg, Mode: 0o600}},
		"pipe":   {{Name: "global/pipe", Typeflag: tar.TypeFifo, Mode: 0o600}},
		"dots":   {{Name: "../../outside/file", Typeflag: tar.TypeReg, Mode: 0o600}},
		"root":   {{Name: outside + "/file", Typeflag: tar.TypeReg, Mode: 0o600}},
	} {
		c.back(filepath.Join(c.dir, name), withEntries(t, plain, evil))
		if name == "root" { // tar takes the slash away, so that it lies inside
			says(t, c.restore(0, dir, "--to", "latest"), "Restored backup")
			must(t, os.RemoveAll(dir))
		} else {
			c.refused(dir, "")
		}
		if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
			t.Fatalf("%s: it led to %v, %v", name, left, err)
		}
	}
}

// withEntries gives a tar file with more in it, which comes first.
func withEntries(t *testing.T, plain []byte, more []tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range more {
		must(t, w.WriteHeader(&h))
	}
	r := tar.NewReader(bytes.NewReader(plain))
	for {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		must(t, err)
		must(t, w.WriteHeader(h))
		_, err = io.Copy(w, r)
		must(t, err)
	}
	must(t, w.Close())
	return out.Bytes()
}

// TestMariaDBBaseLeadsOut does so with mbstream, which makes whatever file it is told.
func TestMariaDBBaseLeadsOut(t *testing.T) {
	m := newMaria(t)
	must(t, m.server.Exec("CREATE DATABASE IF NOT EXISTS test", "CREATE TABLE test.t (i INT PRIMARY KEY) ENGINE=InnoDB"))
	m.archived()
	plain, err := exec.Command("bash", "-c", m.baseLine()).Output()
	must(t, err)
	outside := filepath.Join(m.dir, "outside")
	must(t, os.Mkdir(outside, 0o777))
	must(t, os.Chmod(outside, 0o777))
	dir := filepath.Join(m.dir, "restored")
	for _, name := range []string{"../../outside/file", outside + "/file", "test/../../../outside/file"} {
		m.back(filepath.Join(m.dir, "evil"), append(mbChunks(name), plain...))
		m.refused(dir, "lies outside of where it is unpacked")
		if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
			t.Fatalf("%s: it led to %v, %v", name, left, err)
		}
	}
	m.back(filepath.Join(m.dir, "good"), plain)
	says(t, m.restore(0, dir, "--to", "latest"), "Restored backup")
}

// TestMariaDBTableElsewhere has a table whose data lie outside of the data directory: on the copy they lie inside, and nothing leads to
// those of the server that was backed up, which runs beside it.
func TestMariaDBTableElsewhere(t *testing.T) {
	m := newMaria(t)
	far := filepath.Join(m.dir, "far")
	must(t, os.Mkdir(far, 0o700))
	uid, gid := m.box.User()
	must(t, os.Chown(far, uid, gid))
	must(t, m.server.Exec("CREATE DATABASE IF NOT EXISTS test", "CREATE TABLE test.far (i INT PRIMARY KEY) ENGINE=InnoDB DATA DIRECTORY = '"+far+"'", "INSERT INTO test.far VALUES (1)"))
	m.base()
	must(t, m.server.Exec("INSERT INTO test.far VALUES (2)"))
	m.archived()
	dir := filepath.Join(m.dir, "restored")
	says(t, m.restore(0, dir, "--to", "latest"), "Restored backup")
	must(t, m.server.Exec("INSERT INTO test.far VALUES (3)"))
	if got := m.rows(dir, "SELECT GROUP_CONCAT(i) FROM test.far"); got != "1,2" {
		t.Errorf("there are %s", got)
	}
	if links, _ := filepath.Glob(dir + "/test/*.isl"); len(links) > 0 {
		t.Errorf("it leads elsewhere: %v", links)
	}
}

// mbChunks are those of one file without anything in it.
func mbChunks(name string) []byte {
	head := func(kind byte) []byte {
		b := append([]byte("XBSTCK01"), 0, kind)
		return append(binary.LittleEndian.AppendUint32(b, uint32(len(name))), name...)
	}
	return append(append(head('P'), make([]byte, 8+8+4)...), head('E')...)
}

// TestArchiveWhereADiskWas takes the disk of the archive away, and leaves its mount point: nothing is archived there, and the server
// keeps its log, until the disk is back.
func TestArchiveWhereADiskWas(t *testing.T) {
	c := newCluster(t, "")
	must(t, c.server.Exec("CREATE TABLE t (i INT)"))
	c.archived()
	c.end()
	must(t, os.Rename(c.store, c.store+".away"))
	must(t, os.Mkdir(c.store, 0o700))
	says(t, c.plumb(3, "archive", "run", "--to", c.url, "--recipient", c.recipient, "--state", c.state, "--socket", c.socket, "--wal-user", c.user), "had the archive of this host, but is empty now", "mount the disk")
	if left, err := os.ReadDir(c.store); err != nil || len(left) > 0 {
		t.Errorf("it was written to: %v, %v", left, err)
	}
	must(t, os.Remove(c.store))
	must(t, os.Rename(c.store+".away", c.store))
	c.serve("--wal-user", c.user)
	c.archived()
}

// TestSocketOfAnother puts something else where the service's socket would be, and a socket of another user's where push looks: nothing is
// taken away, followed or handed over.
func TestSocketOfAnother(t *testing.T) {
	s := newSite(t)
	run := func(code int, socket string) string {
		return s.plumb(code, "archive", "run", "--to", s.url, "--recipient", s.recipient, "--state", s.state, "--socket", socket, "--wal-user", s.user)
	}
	target := filepath.Join(s.dir, "target")
	must(t, os.WriteFile(target, []byte("theirs"), 0o600))
	place := filepath.Join(s.dir, "place")
	must(t, os.Mkdir(place, 0o755))
	must(t, os.Symlink(target, filepath.Join(place, "link")))
	must(t, syscall.Mkfifo(filepath.Join(place, "pipe"), 0o666))
	for _, name := range []string{"link", "pipe"} {
		says(t, run(3, filepath.Join(place, name)), "there is something else than a socket")
	}
	if text, err := os.ReadFile(target); err != nil || string(text) != "theirs" {
		t.Errorf("%q, %v", text, err)
	}
	theirs := filepath.Join(s.dir, "theirs")
	must(t, os.Mkdir(theirs, 0o755))
	must(t, os.Chown(theirs, 65534, 65534))
	if out := run(3, filepath.Join(theirs, "s")); !strings.Contains(out, "listen on") {
		t.Errorf("%s", out)
	}
	if left, err := os.ReadDir(theirs); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	// One that is started again and again, and refused each time, does not live.
	says(t, s.plumb(1, "archive", "status", "--state", s.state), "No archive service runs on this host")
}
