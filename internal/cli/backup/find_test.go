package backup

import (
	"errors"
	"os"
	"strings"
	"testing"

	"plumb/internal/hint"
	"plumb/internal/host/hosttest"
	"plumb/internal/protect"
	"plumb/internal/stack"
)

// TestWhichPoint names the point that is backed up: by its ID, by its server, and not at all. What is no whole point is passed over.
func TestWhichPoint(t *testing.T) {
	d, points := hosttest.LiveDoer(t), protect.Store{Dir: t.TempDir()}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	put := func(id string, state protect.State, kind, name string) {
		must(points.Put(t.Context(), d, protect.Point{ID: id, State: state, Server: protect.Server{Ref: stack.Ref{Kind: kind, Name: name}}, Members: []protect.Member{{}}}))
	}
	find := func(of string) (string, error) {
		p, err := asked{}.find(t.Context(), d, points, of)
		return p.ID, err
	}
	if _, err := find("mysql:3306"); !errors.Is(err, ErrNoPoint) || !strings.HasSuffix(err.Error(), "of mysql:3306") || !strings.Contains(hint.Of(err), "plumb snapshot") {
		t.Error(err)
	}
	put("20261123T100000Z-0001", protect.Taken, "mysql", "3306")
	put("20261123T110000Z-0002", protect.Taking, "mysql", "3306")
	if id, err := find(""); err != nil || id != "20261123T100000Z-0001" {
		t.Errorf("%s, %v", id, err)
	}
	put("20261123T120000Z-0003", protect.Taken, "postgres", "5432")
	if id, err := find(""); err == nil || !strings.Contains(hint.Of(err), "name the server") {
		t.Errorf("%s, %v", id, err)
	}
	for of, want := range map[string]string{"mysql:3306": "20261123T100000Z-0001", "mariadb": "20261123T100000Z-0001", "postgres:5432": "20261123T120000Z-0003", "20261123T12": "20261123T120000Z-0003"} {
		if id, err := find(of); err != nil || id != want {
			t.Errorf("%s: %s, %v", of, id, err)
		}
	}
	put("20261123T130000Z-0004", protect.Taken, "mysql", "3307")
	if id, err := find("mysql"); err == nil || !strings.Contains(err.Error(), "several servers") {
		t.Errorf("%s, %v", id, err)
	}
	if _, err := find("prod-db"); !errors.Is(err, protect.ErrNoPoint) {
		t.Error(err)
	}
	must(os.Remove(points.Dir + "/20261123T130000Z-0004.json"))
	if id, err := find("mysql"); err != nil || id != "20261123T100000Z-0001" {
		t.Errorf("%s, %v", id, err)
	}
}
