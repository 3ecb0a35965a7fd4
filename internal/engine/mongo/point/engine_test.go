package point

import (
	"io/fs"
	"strings"
	"testing"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/protect"
	"plumb/internal/stack"
)

func TestDescribe(t *testing.T) {
	var seen stack.Stack
	var obs stack.Observation
	p := obs.New("process", "7")
	for name, v := range map[string]stack.Value{"engine": stack.Text("mongo"), "own_mounts": stack.Bool(false), "own_root": stack.Bool(false), "args": stack.List([]string{"mongod", "--dbpath", "/srv/db"}),
		"listen": stack.List([]string{"tcp:127.0.0.1:27017"})} {
		p.Set(name, v, "test")
	}
	db := obs.New("mongo", "27017")
	db.Set("version", stack.Text("7.0.14"), "test")
	db.Set("storage_engine", stack.Text("wiredTiger"), "test")
	for role, at := range map[string]string{"data": "/srv/db", "journal": "/srv/db/journal", "log": "/var/log/mongod.log"} {
		obs.Roles = append(obs.Roles, stack.Role{DB: db.Ref, Name: role, Path: at, PID: 7})
	}
	seen.Add("test", obs)
	h := hosttest.Map{Links: map[string]string{"/proc/7/exe": "/usr/bin/mongod"}, Files: map[string]string{"/proc/7/status": "Name:\tmongod\nUid:\t112\t112\t112\t112\nGid:\t120\t120\t120\t120\n", "/proc/7/environ": "A=b\x00"},
		Stats: map[string]host.Stat{"/srv/db": {Mode: fs.ModeDir, Resolved: "/srv/db"}, "/srv/db/journal": {Mode: fs.ModeDir, Resolved: "/wal/j"}}}
	sv, target, err := New("").Describe(t.Context(), h, &seen, db.Ref)
	if err != nil {
		t.Fatal(err)
	}
	if sv.UID != 112 || sv.GID != 120 || sv.Program[0] != "/usr/bin/mongod" || sv.Product != "MongoDB 7.0.14" || len(sv.Dirs) != 2 || sv.Dir("data") != "/srv/db" || sv.Dir("journal") != "/wal/j" || target.Address != "127.0.0.1:27017" {
		t.Errorf("%+v %+v", sv, target)
	}
	if !New("").Aside(&seen, sv, "/var/log/mongod.log") || New("").Aside(&seen, sv, "/srv/db/collection-1.wt") {
		t.Error("what may be missing")
	}
}

func TestModes(t *testing.T) {
	sv := protect.Server{Dirs: []protect.Dir{{Role: "data", Path: "/srv/db"}, {Role: "journal", Path: "/wal/j"}}, Settings: map[string]string{"storage_engine": "wiredTiger"}}
	both := []protect.Volume{{Mountpoint: "/srv"}, {Mountpoint: "/wal"}}
	for _, c := range []struct {
		set  protect.Set
		sets map[string]string
		not  string
	}{
		{protect.Set{Volumes: both}, nil, ""},
		{protect.Set{Volumes: both, Apart: "two pools"}, nil, "two pools"},
		{protect.Set{Volumes: both[:1]}, nil, "/wal/j (journal)"},
		{protect.Set{Volumes: both}, map[string]string{"storage_journal_enabled": "false"}, "no journal"},
		{protect.Set{Volumes: both}, map[string]string{"storage_engine": "inMemory"}, "inMemory"},
	} {
		sv.Settings = c.sets
		modes, err := New("").Modes(t.Context(), nil, host.Target{}, nil, sv, c.set)
		if err != nil || len(modes) != 4 {
			t.Fatal(modes, err)
		}
		if got := modes[0]; (got.Not == "") != (c.not == "") || !strings.Contains(got.Not, c.not) || !strings.Contains(got.Why, "never run") {
			t.Errorf("%+v, want %q", got, c.not)
		}
		if m := modes[1]; m.Not != "" && c.set.Apart != "" || !m.Asked || len(m.Will) == 0 || !strings.Contains(m.Why, "never run") || modes[2].Not == "" {
			t.Errorf("a lock that was never tried: %+v", m)
		}
	}
	if _, _, _, err := New("").Serve(protect.Copy{}); err == nil {
		t.Error("it starts a copy")
	}
}
