package replicate

import (
	"bytes"
	"encoding/json"
	"path"
	"strings"
	"testing"

	"plumb/internal/hint"
	"plumb/internal/protect"
	"plumb/internal/stack"
)

func example() protect.Point {
	m := memberOf("tank/db@plumb-20261123T210500Z-4f3a", "12")
	m.Mountpoint = "/var/lib/mysql"
	return protect.Point{Form: protect.Form, ID: "20261123T210500Z-4f3a", Mode: protect.ModeLocked, Members: []protect.Member{m},
		Server: protect.Server{Ref: stack.Ref{Kind: "mysql", Name: "3306"}, Flavor: "mariadb", Product: "MariaDB 10.11.14", Version: "10.11.14", UID: 101, GID: 101, PID: 7,
			Program: []string{"/usr/sbin/mariadbd"}, Env: []string{"LD_LIBRARY_PATH=/x"}, Unit: "mariadb.service", Dirs: []protect.Dir{{Role: "data", Path: "/var/lib/mysql"}},
			Settings: map[string]string{"innodb_page_size": "16384"}}}
}

// A backup may tell of snapshots of btrfs, and a target of replicas takes none.
func TestHearAny(t *testing.T) {
	p := example()
	p.Members[0].Storage, p.Members[0].Snapshot, p.Members[0].GUID = "btrfs", ".plumb-points/plumb-x.db", "ba36178d-ee23-0443-983f-42e3d5d64982"
	text, err := json.Marshal(p)
	must(t, err)
	if got, err := HearAny(bytes.NewReader(text), p.ID); err != nil || got.Members[0].GUID != p.Members[0].GUID {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := hearZFS(bytes.NewReader(text), p.ID); err == nil {
		t.Error("a target takes it")
	}
	for _, guid := range []string{"12", "", "ba36178dee230443983f42e3d5d64982", "../../x"} {
		p.Members[0].GUID = guid
		text, err := json.Marshal(p)
		must(t, err)
		if _, err := HearAny(bytes.NewReader(text), p.ID); err == nil || !strings.Contains(err.Error(), "not a snapshot of ZFS or btrfs") {
			t.Errorf("the GUID %q: %v", guid, err)
		}
	}
}

// What is told of a point holds nothing of how its server is run, whoever tells it. What is not sure of it is told, in one line each.
func TestHear(t *testing.T) {
	doubtful := example()
	doubtful.Doubts = []string{"1 prepared XA transaction", "the lock was lost: ERROR\n\x1b[2Jall is well", strings.Repeat("x", 2*longestSay)}
	text, err := json.Marshal(doubtful)
	must(t, err)
	p, err := hearZFS(bytes.NewReader(text), example().ID)
	must(t, err)
	if sv := p.Server; sv.Program != nil || sv.Env != nil || sv.Unit != "" || sv.UID != 0 || sv.PID != 0 || sv.Settings["innodb_page_size"] != "16384" || len(p.Members) != 1 {
		t.Errorf("%+v", p)
	}
	if d := p.Doubts; len(d) != 3 || d[0] != doubtful.Doubts[0] || d[1] != "the lock was lost: ERROR [2Jall is well" || len(d[2]) > longestSay+len("…") {
		t.Errorf("what is not sure of it: %q", d)
	}
	for want, change := range map[string]func(*protect.Point){
		"names no server":                     func(p *protect.Point) { p.Server.Ref.Kind = "../mysql" },
		"it names no server":                  func(p *protect.Point) { p.Server.Version = "10.11\n" },
		"has no parts":                        func(p *protect.Point) { p.Members = nil },
		"not the path of a directory":         func(p *protect.Point) { p.Server.Dirs[0].Path = "/var/../etc" },
		"is not the path of a directory":      func(p *protect.Point) { p.Server.Dirs[0].Link = "../../x" },
		"not a snapshot of ZFS":               func(p *protect.Point) { p.Members[0].Mountpoint = "/var/../lib" },
		"is not a snapshot of ZFS":            func(p *protect.Point) { p.Members[0].Snapshot = "tank/../db@x" },
		"\" is not a snapshot of ZFS":         func(p *protect.Point) { p.Members[0].GUID = "all" },
		"on \"/x\\ny\" is not a snapshot":     func(p *protect.Point) { p.Members[0].Mountpoint = "/x\ny" },
		"not a setting":                       func(p *protect.Point) { p.Server.Settings["a\nb"] = "1" },
		"is not a setting":                    func(p *protect.Point) { p.Server.Settings["a"] = "1\nplugin_load = x" },
		"not a file that a copy needs":        func(p *protect.Point) { p.Files = map[string]string{"../../etc/cron.d/x": "y"} },
		"not of point":                        func(p *protect.Point) { p.ID = "20261123T210500Z-4f3b" },
		"is not of point":                     func(p *protect.Point) { p.Form = protect.Form + 1 },
		"the description of the point is too": func(p *protect.Point) { p.Host = strings.Repeat("x", mostPoint) },
	} {
		bad := example()
		change(&bad)
		text, err := json.Marshal(bad)
		if must(t, err); want == "the description of the point is too" {
			text = bytes.Repeat([]byte(" "), mostPoint+1)
		}
		if _, err := hearZFS(bytes.NewReader(text), example().ID); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// A dataset that cannot be brought to a moment is no fault of who tells of it: its name, or its place, and what helps, are said.
func TestHearSaysWhatHelps(t *testing.T) {
	for want, change := range map[string]func(*protect.Member){
		`"tank/my db" has other characters`:  func(m *protect.Member) { m.Snapshot = "tank/my db@plumb-x" },
		`"tank/db" was mounted at /, so it `: func(m *protect.Member) { m.Mountpoint = "/" },
	} {
		p := example()
		change(&p.Members[0])
		text, err := json.Marshal(p)
		must(t, err)
		if _, err := HearAny(bytes.NewReader(text), p.ID); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(hint.Of(err), "without --to and --start restores it as it is; ") {
			t.Errorf("want %q: %v, hint %q", want, err, hint.Of(err))
		}
	}
}

func FuzzHear(f *testing.F) {
	text, _ := json.Marshal(example())
	f.Add(string(text))
	f.Fuzz(func(t *testing.T, text string) {
		p, err := hearZFS(strings.NewReader(text), example().ID)
		if err != nil {
			return
		}
		for _, d := range p.Server.Dirs {
			if at := path.Join("/copy", d.Path); !strings.HasPrefix(at, "/copy/") || strings.ContainsAny(at, "\n\x00") {
				t.Errorf("%q leads to %q", d.Path, at)
			}
		}
		for _, m := range p.Members {
			if name := replicaOf("tank/copies", m); !isOurs(name) || !strings.HasPrefix(name, "tank/copies/") || !strings.HasPrefix(path.Join("/copy", m.Mountpoint), "/copy/") {
				t.Errorf("%q is received as %q, and mounted on %q", m.Snapshot, name, m.Mountpoint)
			}
		}
		if len(p.Server.Program) > 0 || p.Server.UID != 0 {
			t.Errorf("%+v", p.Server)
		}
	})
}
