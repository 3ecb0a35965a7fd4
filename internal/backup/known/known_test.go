package known

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
)

var noon = time.Date(2027, 3, 14, 12, 0, 0, 0, time.UTC)

func made(id, server string, ended time.Time, base string) manifest.Manifest {
	m := manifest.Manifest{ID: id, Server: server, Ended: ended, Streams: []manifest.Stream{{Name: "dump"}}}
	if base != "" {
		m.Streams[0].Base = &manifest.Base{Backup: base}
	}
	return m
}

func TestPlace(t *testing.T) {
	var p Place
	for i := range 30 { // in any order, and again
		p.Made(made("a", "mysql:3306", noon.Add(-time.Duration(i*7%30)*time.Hour), ""))
		p.Made(made("a", "mysql:3306", noon, ""))
		p.Has(made("a", "mysql:3306", noon.Add(-30*time.Minute), "")) // a copy
	}
	point := made("b", "postgres:5432", noon, "")
	point.Point = "p"
	p.Has(point)
	p.Has(made("c", "", noon, ""))
	if len(p.Servers) != 3 || p.Servers[0].Name != "command:dump" || p.Servers[1].Provable || !p.Servers[2].Provable {
		t.Fatalf("%+v", p.Servers)
	}
	s := p.Servers[1]
	if len(s.Ends) != mostEnds || !s.Newest.Equal(noon) || !s.First.Equal(noon.Add(-29*time.Hour)) || !s.Ends[0].Equal(noon.Add(-19*time.Hour)) {
		t.Errorf("%+v", s)
	}
	for i := range 2 * mostServers {
		p.Has(made("d", fmt.Sprint("mysql:", i), noon, ""))
	}
	if len(p.Servers) != mostServers {
		t.Errorf("%d servers", len(p.Servers))
	}
}

// Of several tries the newest counts, in whatever order they are heard of.
func TestTried(t *testing.T) {
	m := made("a", "mysql:3306", noon, "")
	well := manifest.Proof{ID: "a", OK: true, At: noon}
	for _, c := range []struct {
		name     string
		tries    []manifest.Proof
		restored bool
		failed   bool
	}{
		{"well", []manifest.Proof{well}, true, false},
		{"ill", []manifest.Proof{{At: noon, Why: "no"}}, false, true},
		{"ill, then well", []manifest.Proof{{At: noon.Add(-time.Hour), Why: "no"}, well}, true, false},
		{"well, then ill", []manifest.Proof{well, {At: noon.Add(time.Hour), Why: "no"}}, true, true},
		{"ill, and well is heard of later", []manifest.Proof{{At: noon.Add(time.Hour), Why: "no"}, well}, true, true},
		{"well, and ill is heard of later", []manifest.Proof{well, {At: noon.Add(-time.Hour), Why: "no"}}, true, false},
	} {
		var p Place
		for _, try := range c.tries {
			p.Tried(m, try)
		}
		if s := p.Servers[0]; s.Restored.IsZero() == c.restored || (s.Why != "") != c.failed || s.Failed.IsZero() == c.failed {
			t.Errorf("%s: %+v", c.name, s)
		}
	}
}

func TestSee(t *testing.T) {
	found := func(m manifest.Manifest) backup.Found { return backup.Found{Manifest: m} }
	var p Place
	p.Made(made("old", "mysql:1", noon.Add(-time.Hour), ""))
	p.See([]backup.Found{found(made("a", "mysql:2", noon, "")), found(made("b", "mysql:2", noon.Add(time.Hour), "a")), found(made("c", "mysql:2", noon, "gone")),
		{Manifest: manifest.Manifest{ID: "d"}, Err: errors.New("torn")}}, noon)
	if p.Unusable != 2 || len(p.Servers) != 2 || p.Servers[1].Backups != 2 || !p.Servers[1].Newest.Equal(noon.Add(time.Hour)) || !p.Listed.Equal(noon) {
		t.Errorf("%+v", p)
	}
	if gone := p.Servers[0]; !gone.Newest.IsZero() || gone.First.IsZero() || len(gone.Ends) != 1 { // it is gone, and not forgotten
		t.Errorf("%+v", gone)
	}
}

func TestUsual(t *testing.T) {
	at := func(hours ...float64) (all []time.Time) {
		for _, h := range hours {
			all = append(all, noon.Add(time.Duration(h*float64(time.Hour))))
		}
		return all
	}
	for _, c := range []struct {
		name string
		ends []time.Time
		want time.Duration
	}{
		{"daily", at(0, 24, 48.5, 72, 96), 24 * time.Hour},
		{"in two places", at(0, 24, 24, 48, 0, 72, 48, 96), 24 * time.Hour},
		{"an outage", at(0, 24, 48, 200, 224, 248), 24 * time.Hour},
		{"some by hand", at(0, 24, 24.1, 24.2, 24.3, 48, 72), 24 * time.Hour},
		{"too few", at(0, 24, 48, 72), 0},
		{"all by hand", at(0, .1, .2, .3, .4, .5), 0},
		{"none", nil, 0},
	} {
		if got, is := Usual(c.ends); got != c.want || is != (c.want > 0) {
			t.Errorf("%s: %s, %t", c.name, got, is)
		}
	}
}

func TestWhere(t *testing.T) {
	for want, l := range map[string]Lies{
		Here:                             {Directory: "/b", Mount: "/", Type: "ext4", Source: "/dev/sda1"},
		"the file server nas":            {Directory: "/b", Mount: "/b", Type: "nfs4", Source: "nas:/export/db"},
		"the file server win":            {Directory: "/b", Mount: "/b", Type: "cifs", Source: "//win/share"},
		"the file server far":            {Directory: "/b", Mount: "/b", Type: "fuse.sshfs", Source: "joe@far:/home"},
		"the file server fe80::1":        {Directory: "/b", Mount: "/b", Type: "nfs4", Source: "[fe80::1]:/x"},
		"the file server behind gv0":     {Directory: "/b", Mount: "/b", Type: "fuse.glusterfs", Source: "gv0"},
		"s3.example.org":                 {Site: "s3.example.org", Login: "a"},
		"":                               {Directory: "/b", Mount: "/b", Type: "fuse.strange", Source: "x"},
		"the region eu-west-1 of Amazon": {Site: "the region eu-west-1 of Amazon"},
	} {
		if got := l.Where(); got != want {
			t.Errorf("%+v is in %q and not in %q", l, got, want)
		}
	}
	if got := (Lies{Directory: "/b", Mount: "/tank", Type: "fuse.zfs", Source: "tank"}).Where(); got != Here {
		t.Error(got)
	}
}

// Holds asks the table alone, and finds what is mounted last.
func TestHolds(t *testing.T) {
	h := hosttest.Map{Files: map[string]string{"/proc/self/mountinfo": `27 1 254:0 / / rw - ext4 /dev/vda rw
40 27 0:50 / /mnt/nas rw - nfs4 nas:/export rw
41 27 8:1 / /mnt/nas rw - ext4 /dev/sda1 rw
`}}
	for dir, want := range map[string]string{"/mnt/nas/db": "/dev/sda1", "/mnt/nas": "/dev/sda1", "/mnt/nasty": "/dev/vda", "/": "/dev/vda"} {
		if m, is := Holds(t.Context(), h, dir); !is || m.Source != want {
			t.Errorf("%s is on %q", dir, m.Source)
		}
	}
	if _, is := Holds(t.Context(), hosttest.Map{}, "/"); is {
		t.Error("without a table something is found")
	}
}

func at(url string) At { return At{URL: url, Plain: url} }

// Many note at once, and nothing is lost. What is damaged, or of a newer Plumb, is said and not written over.
func TestNote(t *testing.T) {
	d, dir := hosttest.LiveDoer(t), t.TempDir()
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if err := Note(t.Context(), d, dir, at("file:///a"), func(p *Place) { p.Has(made("a", fmt.Sprint("mysql:", i), noon, "")) }); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if err := Note(t.Context(), d, dir, at("file:///a/"), func(p *Place) { p.Unusable = 7 }); err != nil { // the same place
		t.Error(err)
	}
	places, err := All(t.Context(), d, dir)
	if err != nil || len(places) != 1 || len(places[0].Servers) != 20 || places[0].Unusable != 7 || places[0].URL != "file:///a/" {
		t.Fatalf("%+v, %v", places, err)
	}
	for what, text := range map[string]string{"damaged": `{"form":1,`, "newer": `{"form":2,"url":"file:///a","new":1}`} {
		if err := os.WriteFile(File(dir, at("file:///a")), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := Note(t.Context(), d, dir, at("file:///a"), func(p *Place) { t.Error("it is changed") })
		if err == nil || !strings.Contains(err.Error(), File(dir, at("file:///a"))) {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := All(t.Context(), d, dir); err == nil {
			t.Errorf("%s: nothing is said", what)
		}
		if kept, _ := os.ReadFile(File(dir, at("file:///a"))); string(kept) != text {
			t.Errorf("%s: it was written over: %s", what, kept)
		}
	}
}

// dying is a machine that dies before it replaces a file.
type dying struct{ host.Doer }

var errDied = errors.New("died")

func (dying) Replace(context.Context, string, []byte, fs.FileMode) error { return errDied }

// What is there stays when the machine dies, and where nothing was ever noted nothing is known, which is no error.
func TestNoteDies(t *testing.T) {
	d, dir := hosttest.LiveDoer(t), t.TempDir()
	if all, err := All(t.Context(), d, filepath.Join(dir, "none")); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
	has := func(p *Place) { p.Has(made("a", "mysql:3306", noon, "")) }
	if err := Note(t.Context(), dying{d}, dir, at("file:///a"), has); !errors.Is(err, errDied) {
		t.Fatal(err)
	}
	if all, err := All(t.Context(), d, dir); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
	if err := Note(t.Context(), d, dir, at("file:///a"), has); err != nil {
		t.Fatal(err)
	}
	if err := Note(t.Context(), dying{d}, dir, at("file:///a"), func(p *Place) { p.Servers = nil }); !errors.Is(err, errDied) {
		t.Fatal(err)
	}
	if all, err := All(t.Context(), d, dir); err != nil || len(all) != 1 || len(all[0].Servers) != 1 {
		t.Errorf("%v, %v", all, err)
	}
}

// What is known is found wherever it is kept: in a directory whose name is a pattern, too.
func TestStateIsNoPattern(t *testing.T) {
	d, state := hosttest.LiveDoer(t), filepath.Join(t.TempDir(), "state[1]*")
	if err := Note(t.Context(), d, state, at("s3://b/p"), func(p *Place) { p.Made(made("a", "mysql:3306", noon, "")) }); err != nil {
		t.Fatal(err)
	}
	if all, err := All(t.Context(), d, state); err != nil || len(all) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
}

func FuzzPlace(f *testing.F) {
	f.Add(`{"form":1,"url":"s3://b","lies":{"site":"x"},"servers":[{"name":"mysql:3306","ends":["2027-03-14T12:00:00Z"]}]}`, "nas:/x", "nfs4")
	f.Fuzz(func(t *testing.T, text, source, fstype string) {
		h := hosttest.Map{Files: map[string]string{"/s/known/a.json": text}}
		all, err := All(t.Context(), h, "/s")
		for _, p := range all {
			p.See(nil, noon)
			for _, s := range p.Servers {
				Usual(s.Ends)
				p.Made(manifest.Manifest{Server: s.Name, Ended: noon})
			}
		}
		_ = err
		Lies{Type: fstype, Source: source}.Where()
	})
}
