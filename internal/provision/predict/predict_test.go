package predict_test

import (
	"bytes"
	"compress/gzip"
	"os"
	"testing"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/check"
	"plumb/internal/engine/mysql"
	"plumb/internal/engine/postgres"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/provision"
	"plumb/internal/provision/predict"
	"plumb/internal/stack"
	"plumb/internal/storage/block"
	"plumb/internal/storage/filesystem"
	"plumb/internal/storage/zfs"
	"plumb/internal/system/kernel"
	"plumb/internal/system/process"
	"plumb/internal/tape"
)

func knowledge(t *testing.T) check.Knowledge {
	t.Helper()
	k, err := check.Load(check.Choice{}, nil, func(what string, err error) {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// recorded reads a captured host.
func recorded(t *testing.T, name string, cat *catalog.Catalog) *stack.Stack {
	t.Helper()
	packed, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	text, err := tape.Read(z, name)
	if err != nil {
		t.Fatal(err)
	}
	taped, err := host.NewTaped(text)
	if err != nil {
		t.Fatal(err)
	}
	s, err := check.Observe(t.Context(), host.NewCached(taped), cat, [][]observe.Probe{
		{kernel.New(cat), process.Probe{}, block.NewProbe(cat), filesystem.Probe{}, zfs.NewProbe(cat)},
		{mysql.NewProbe(cat, nil), postgres.NewProbe(cat, nil)},
	}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDump(t *testing.T) {
	k := knowledge(t)
	for _, name := range []string{"mariadb-ext4", "postgres-17"} {
		s := recorded(t, "../../../fixtures/"+name+".tape.gz", k.Catalog)
		var db *stack.Thing
		for _, kind := range []string{"mysql", "postgres"} {
			for _, o := range s.OfKind(kind) {
				db = o
			}
		}
		data := ""
		for _, r := range s.Roles {
			t.Log(r.Name, r.Path, r.Filesystem)
			if r.Name == "data" {
				data = r.Path
			}
		}
		l := predict.Layout{Server: db.Ref, FSType: "zfs", Pool: "tank", Made: map[string]stack.Value{"ashift": stack.Int(12), "layout": stack.Text("mirror"), "redundant": stack.Bool(true)},
			Volumes: []provision.Volume{{Dataset: "tank/db"}, {Role: "data", Dataset: "tank/db/data", At: data}, {Role: "redo", Dataset: "tank/db/log", At: data + "-log"}}}
		p := predict.Predict(s, l, k.Catalog, k.Verdicts)
		for _, v := range p.Volumes {
			t.Log(v.Dataset, v.At, v.Properties)
		}
		t.Log("pool", p.Pool)
		for _, s := range p.Settings {
			t.Log("set", s.Knob, s.To, s.Because, s.Why)
		}
		for _, f := range p.Left {
			t.Log("left", f.Rule.ID, f.Rule.Harm, f.Cases[0].Title)
		}
		for _, f := range p.Notes {
			t.Log("note", f.Rule.ID, f.Rule.Harm, f.Cases[0].Title)
		}
		for _, w := range p.Waits {
			t.Log("waits", w.Rule, w.About)
		}
		db = p.Stack.Find(db.Ref)
		t.Log(db.Links)
	}
}
