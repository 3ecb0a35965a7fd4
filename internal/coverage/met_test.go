package coverage

import (
	"fmt"
	"slices"
	"testing"
	"testing/fstest"

	"plumb/internal/host/hosttest"
	"plumb/internal/rule"
	"plumb/internal/stack"
)

// rulesOf loads rules against the built-in catalogue. Each is given as "id |
// bindings | condition | ranges", the last may be empty.
func rulesOf(t *testing.T, rules ...[4]string) *rule.Base {
	t.Helper()
	cat := hosttest.Catalog(t)
	files := fstest.MapFS{}
	for _, r := range rules {
		ranges := ""
		if r[3] != "" {
			ranges = "range: " + r[3] + "\n"
		}
		files["rules/"+r[0]+".yaml"] = &fstest.MapFile{Data: fmt.Appendf(nil, "id: %s\ntitle: t\nharm: slow\ngain: low\nfor: [%s]\nwhen: %q\nsay: s\nexplain: e\nbasis: documented\nversions: v\n%ssources: [x]\nexamples: []\n", r[0], r[1], r[2], ranges)}
	}
	base, err := rule.Open(files, cat)
	if err != nil {
		t.Fatal(err)
	}
	return base
}

// zfsHost is a MariaDB on OpenZFS, with a second server that tells nothing.
func zfsHost(mariadb, openzfs string) *stack.Stack {
	s, seen := &stack.Stack{}, stack.Observation{}
	host := seen.New("host", "host")
	host.Set("kernel", stack.Text("6.1.0-18-amd64"), "test")
	host.Set("kernel_upstream", stack.Text("6.1.76"), "test")
	db := seen.New("mysql", "3306")
	db.Set("flavor", stack.Text("mariadb"), "test")
	db.Set("version", stack.Text(mariadb), "test")
	db.Set("innodb_page_size", stack.Int(16384), "test")
	db.SetAbsent("innodb_redo_log_capacity", "test")
	silent := seen.New("mysql", "3307")
	silent.Set("flavor", stack.Text("mysql"), "test")
	silent.Set("innodb_page_size", stack.Int(16384), "test")
	fs, ds := seen.New("filesystem", "1"), seen.New("dataset", "tank/db")
	fs.Set("fstype", stack.Text("zfs"), "test")
	ds.Set("recordsize", stack.Int(131072), "test")
	db.Link("data", fs.Ref)
	fs.Link("dataset", ds.Ref)
	process := seen.New("process", "77")
	process.Set("nofile_soft", stack.Int(1024), "test")
	db.Link("process", process.Ref)
	volume := seen.New("block", "zd0")
	volume.Set("layer", stack.Text("zvol"), "test")
	z := seen.New("zfs", "module")
	z.Set("implementation", stack.Text("openzfs"), "test")
	z.Set("version", stack.Text(openzfs), "test")
	s.Add("test", seen)
	return s
}

func TestMeetingsAreInTheRange(t *testing.T) {
	const onData, larger = "db in mysql, ds in db.data.dataset", "ds.recordsize > db.innodb_page_size"
	base := rulesOf(t,
		[4]string{"a/implied", onData, larger, ""},
		[4]string{"a/newer", onData, larger, `{openzfs: "2.2-"}`},
		[4]string{"a/older", onData, larger, `{openzfs: "-2.1", mariadb: "10.6-"}`},
		[4]string{"a/other", onData, larger, "{mysql: any, percona: any}"},
		[4]string{"a/quiet", "db in mysql", "db.innodb_page_size > 16384", ""},
		[4]string{"a/absent", "db in mysql", "db.innodb_redo_log_capacity > 1", ""},
		[4]string{"a/unknown", "db in mysql", "db.sync_binlog == 0", ""},
		[4]string{"a/kernel", "", `host.kernel != ""`, `{linux: "6.1-6.1.76"}`},
		[4]string{"a/process", "p in process", "p.nofile_soft > 1024", `{mariadb: any}`},
		[4]string{"a/volume", "b in block", `b.layer == "zvol"`, `{openzfs: any, zvol: any}`},
		[4]string{"a/ext4", "fs in filesystem", `fs.fstype == "zfs"`, "{ext4: any}"},
		[4]string{"a/filesystem", "fs in filesystem", `fs.fstype == "zfs"`, ""},
	)
	got, lost := Make(base, []Host{{Name: "one", Stack: zfsHost("10.11.19", "2.1.11")}}, nil)
	if len(lost) > 0 {
		t.Errorf("lost %v", lost)
	}
	for id, want := range map[string]string{
		"a/implied":    "fires on [mariadb 10.11.19 openzfs 2.1.11]",
		"a/newer":      "",
		"a/older":      "fires on [mariadb 10.11.19 openzfs 2.1.11]",
		"a/other":      "",
		"a/quiet":      "quiet on [mariadb 10.11.19]", // the other server tells no version
		"a/absent":     "",
		"a/unknown":    "",
		"a/kernel":     "fires on [linux 6.1.76]",
		"a/process":    "quiet on [linux 6.1.76 mariadb 10.11.19]",
		"a/ext4":       "",
		"a/filesystem": "fires on [linux 6.1.76 openzfs 2.1.11]",
		"a/volume":     "fires on [linux 6.1.76 openzfs 2.1.11 zvol]",
	} {
		text := ""
		for _, m := range got[id].Met {
			text += fmt.Sprintf("%s on %v", m.Says, m.On)
		}
		if text != want {
			t.Errorf("%s: got %q, want %q", id, text, want)
		}
	}
}

func TestOneMeetingOfALikeIsKept(t *testing.T) {
	base := rulesOf(t, [4]string{"a/a", "db in mysql", "db.innodb_page_size > 16384", ""})
	got, _ := Make(base, []Host{
		{Name: "live", Day: "2026-11-22", Stack: zfsHost("10.11.19", "2.1.11")},
		{Name: "z", Stack: zfsHost("10.11.19", "2.3.4")}, {Name: "b", Stack: zfsHost("10.11.19", "2.1.11")},
		{Name: "newer", Stack: zfsHost("10.11.20", "2.1.11")}, {Name: "older", Stack: zfsHost("10.11.9", "2.1.11")},
	}, nil)
	var hosts []string
	for _, m := range got["a/a"].Met {
		hosts = append(hosts, m.Host)
	}
	if want := []string{"older", "b", "newer"}; !slices.Equal(hosts, want) {
		t.Errorf("got %v, want %v", hosts, want)
	}
}

func TestLiveMeetingsStayWhileTheConditionDoes(t *testing.T) {
	ids := func(r Records) (out []string) {
		for id := range r {
			out = append(out, id)
		}
		slices.Sort(out)
		return out
	}
	one := [4]string{"a/one", "db in mysql", "db.innodb_page_size > 16384", ""}
	two := [4]string{"a/two", "db in mysql", "db.innodb_page_size > 4096", ""}
	before, _ := Make(rulesOf(t, one, two, [4]string{"a/gone", "db in mysql", "db.innodb_page_size > 1", ""}),
		[]Host{{Name: "live", Day: "2026-11-22", Stack: zfsHost("11.8.6", "2.3.4")}}, nil)
	if got := ids(before); len(got) != 3 {
		t.Fatalf("got %v", got)
	}
	after, lost := Make(rulesOf(t, one, two), nil, before)
	if !slices.Equal(ids(after), []string{"a/one", "a/two"}) || !slices.Equal(lost, []string{"a/gone"}) {
		t.Errorf("kept %v, lost %v", ids(after), lost)
	}
	two[2] = "db.innodb_page_size > 8192"
	after, lost = Make(rulesOf(t, one, two), nil, before)
	if !slices.Equal(ids(after), []string{"a/one"}) || !slices.Equal(lost, []string{"a/gone", "a/two"}) {
		t.Errorf("after another condition: kept %v, lost %v", ids(after), lost)
	}
	one[3] = `{mariadb: "-10.11"}`
	if after, lost = Make(rulesOf(t, one), nil, before); len(after) > 0 {
		t.Errorf("after another range: kept %v, lost %v", ids(after), lost)
	}
}

func TestStandingSaysWhatIsWanted(t *testing.T) {
	base := rulesOf(t,
		[4]string{"a/met", "db in mysql, ds in db.data.dataset", "ds.recordsize > 1", ""},
		[4]string{"a/replica", "db in mysql", "db.is_replica", ""},
		[4]string{"a/newer", "db in mysql, z in zfs", "db.is_replica && z.arc_size > 0", `{openzfs: "2.3-"}`},
		[4]string{"a/mongo", "db in mongo", "db.cache_size > 1", ""},
	)
	records, _ := Make(base, []Host{{Name: "one", Stack: zfsHost("10.11.19", "2.1.11")}}, nil)
	for i, s := range records.Standings(base.Rules()) {
		id := base.Rules()[i].ID
		text := ""
		for _, group := range s.Wants {
			for _, c := range group {
				text += c.Product + " " + c.Text + ", "
			}
			text += "; "
		}
		want := map[string]string{"a/newer": "openzfs 2.3-, ; ", "a/mongo": "mongodb any, percona-mongodb any, ; "}[id]
		if text != want || s.Untested() != (id != "a/met") {
			t.Errorf("%s: untested %v, wants %q, not %q", id, s.Untested(), text, want)
		}
	}
	if s := records.Of(base.Rule("a/mongo")); !s.Untested() || len(s.Wants) != 1 {
		t.Errorf("alone: %v", s)
	}
}
