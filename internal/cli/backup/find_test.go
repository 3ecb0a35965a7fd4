package backup

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"plumb/internal/backup"
	"plumb/internal/backup/store"
	"plumb/internal/cli/protect/machine"
	"plumb/internal/cli/shell"
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
	if id, err := find(""); err == nil || !strings.Contains(hint.Of(err), "name a server") {
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

// TestHold holds a point while it is sent, and lets go of what a killed run held for the same places, of the same server.
func TestHold(t *testing.T) {
	var said bytes.Buffer
	sh := shell.New(strings.NewReader(""), &said, &said)
	v := &verbs{Opener: machine.Opener{Shell: &sh}}
	d, o, to := hosttest.LiveDoer(t), asked{points: t.TempDir()}, []store.Store{&store.Missing{At: "file:///a"}, &store.Missing{At: "file:///b"}}
	points := protect.Store{Dir: o.points}
	const mine = "backup file:///a and file:///b"
	for id, p := range map[string]protect.Point{
		"20261123T100000Z-0001": {Server: protect.Server{Ref: stack.Ref{Kind: "mysql", Name: "3306"}}, Holds: []protect.Hold{{Owner: mine}, {Owner: "audit"}}},
		"20261123T110000Z-0002": {Server: protect.Server{Ref: stack.Ref{Kind: "mysql", Name: "3307"}}, Holds: []protect.Hold{{Owner: mine}}},
		"20261123T120000Z-0003": {Server: protect.Server{Ref: stack.Ref{Kind: "mysql", Name: "3306"}}},
	} {
		p.ID, p.State, p.Members = id, protect.Taken, []protect.Member{{}}
		if err := points.Put(t.Context(), d, p); err != nil {
			t.Fatal(err)
		}
	}
	holders := func() (all []string) {
		t.Helper()
		list, err := points.List(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range list {
			for _, h := range p.Holds {
				all = append(all, p.ID[17:]+" "+h.Owner)
			}
		}
		return all
	}
	release := v.hold(t.Context(), d, o, backup.Job{Point: "20261123T120000Z-0003", Server: "mysql:3306"}, to)
	if got := holders(); !slices.Equal(got, []string{"0001 audit", "0002 " + mine, "0003 " + mine}) {
		t.Errorf("%q, %s", got, &said)
	}
	release()
	if got := holders(); !slices.Equal(got, []string{"0001 audit", "0002 " + mine}) || said.Len() > 0 {
		t.Errorf("%q, %s", got, &said)
	}
	v.hold(t.Context(), d, o, backup.Job{Point: "20261123T130000Z-0004", Server: "mysql:3306"}, to)()
	if !strings.Contains(said.String(), "keep the point from being pruned") {
		t.Errorf("of one that is not there: %s", &said)
	}
}
