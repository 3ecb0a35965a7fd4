package feed

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"plumb/internal/archive"
	"plumb/internal/backup/known"
	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/internal/stack"
)

// told is what a keeper was told: nil is nothing.
type told struct {
	points   []protect.Point
	places   []known.Place
	services []archive.Status
}

func (k *told) Kept(points []protect.Point, _ map[string]bool) {
	k.points = append([]protect.Point{}, points...)
}
func (k *told) Recalled(all []known.Place)    { k.places = append([]known.Place{}, all...) }
func (k *told) Archived(all []archive.Status) { k.services = append([]archive.Status{}, all...) }

// TestADamagedPointHidesNoOther: who asks how old the newest point is must not be told nothing because of one file.
func TestADamagedPointHidesNoOther(t *testing.T) {
	d := host.NewLiveDoer(host.NewLive(host.LiveOptions{}))
	defer d.Close()
	from := protect.Store{Dir: t.TempDir()}
	p := protect.Point{ID: "20261128T000000-1234", State: protect.Taken, Server: protect.Server{Ref: stack.Ref{Kind: "mysql", Name: "3306"}}, Members: []protect.Member{{}}}
	if err := from.Put(t.Context(), d, p); err != nil {
		t.Fatal(err)
	}
	look := func() []protect.Point {
		k := &told{}
		keptPoints(t.Context(), k, d, from, nil)
		return k.points
	}
	if got := look(); len(got) != 1 {
		t.Fatalf("before anything is damaged: %+v", got)
	}
	if err := os.WriteFile(filepath.Join(from.Dir, "20261128T010000-1234.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := look(); len(got) != 1 || got[0].ID != p.ID {
		t.Errorf("beside a damaged one: %+v", got)
	}
	if err := os.Remove(filepath.Join(from.Dir, p.ID+".json")); err != nil {
		t.Fatal(err)
	}
	if got := look(); got != nil {
		t.Errorf("where none can be read there are said to be %d", len(got))
	}
}

// TestADamagedPlaceHidesNoOther: so it is with what is known of backups.
func TestADamagedPlaceHidesNoOther(t *testing.T) {
	d := host.NewLiveDoer(host.NewLive(host.LiveOptions{}))
	defer d.Close()
	state := t.TempDir()
	if err := known.Note(t.Context(), d, state, known.At{URL: "s3://a/b"}, func(*known.Place) {}); err != nil {
		t.Fatal(err)
	}
	look := func() []known.Place {
		k := &told{}
		keptBackups(t.Context(), k, d, state)
		return k.places
	}
	if got := look(); len(got) != 1 {
		t.Fatalf("before anything is damaged: %+v", got)
	}
	if err := os.WriteFile(filepath.Join(known.Directory(state), "damaged.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := look(); len(got) != 1 || got[0].URL != "s3://a/b" {
		t.Errorf("beside a damaged one: %+v", got)
	}
}

// TestADamagedServiceHidesNoOther: so it is with what the services that archive logs say of themselves.
func TestADamagedServiceHidesNoOther(t *testing.T) {
	d := host.NewLiveDoer(host.NewLive(host.LiveOptions{}))
	defer d.Close()
	state := t.TempDir()
	look := func() []archive.Status {
		k := &told{}
		keptArchives(t.Context(), k, d, state)
		return k.services
	}
	if got := look(); len(got) != 0 {
		t.Fatalf("where no service ever ran: %+v", got)
	}
	b := archive.Board{Do: d, File: archive.StatusFile(state, "main"), Now: time.Now}
	if err := b.Begin(t.Context(), archive.Status{Name: "main"}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(archive.StatusFile(state, "damaged"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := look(); len(got) != 1 || got[0].Name != "main" {
		t.Errorf("beside a damaged one: %+v", got)
	}
}
