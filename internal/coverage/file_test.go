package coverage

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"plumb/internal/rule"
	"plumb/internal/strictyaml"
	"plumb/knowledge"
)

func sample() Records {
	return Records{
		"a/one": {Condition: "0123456789ab", Met: []Meeting{
			{On: []Product{{"mariadb", "10.11.19"}, {"zfs-fuse", ""}}, Says: rule.Fires, Host: "mariadb-zfs-128K"},
			{On: []Product{{"postgres", "18"}}, Says: rule.Quiet, Host: "TestMatrix/postgres 18", Day: "2026-11-22"}}},
		"b/two": {Condition: "ba9876543210", Met: []Meeting{{Says: rule.Fires, Host: "x"}}},
	}
}

func TestRecordsAreReadAsTheyAreWritten(t *testing.T) {
	for name, r := range map[string]Records{"sample": sample(), "none": {}} {
		got, err := parse(r.Text())
		if err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("%s: %v, %v\n%s", name, got, err, r.Text())
		}
	}
}

// TestOneRecordIsReadAlone reads the built-in file both ways.
func TestOneRecordIsReadAlone(t *testing.T) {
	all, err := Read(knowledge.FS)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range all {
		if got, err := ReadOne(knowledge.FS, id); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v", id, got, err)
		}
	}
	if got, err := ReadOne(knowledge.FS, "no/rule"); err != nil || len(got.Met) > 0 {
		t.Errorf("no rule: %v, %v", got, err)
	}
	if _, err := ReadOne(fstest.MapFS{}, "no/rule"); err == nil {
		t.Error("no file is no error")
	}
}

func TestMistakesOfTheFile(t *testing.T) {
	text := string(sample().Text())
	for change, want := range map[string]string{
		`condition: "0123456789ab"|condition: now`:        "twelve hexadecimal digits",
		"says: fires|says: unknown":                       "says is one of fires, quiet",
		"mariadb 10.11.19|mariadb new":                    "is not a product",
		"day: 2026-11-22|day: today":                      "a day is written as",
		"host: mariadb-zfs-128K|hosts: 1":                 `no key "hosts"`,
		`host: "TestMatrix/postgres 18"|host: ""`:         "host says where it was",
		"a/one:|b/two:":                                   "is there twice",
		"    - {on: [], says: fires, host: x}\n|    []\n": "has no record",
		`  condition: "ba9876543210"` + "\n|":             `needs the key "condition"`,
		"[mariadb 10.11.19, zfs-fuse]|mariadb 10.11.19":   "on is a list",
	} {
		from, to, _ := strings.Cut(change, "|")
		if !strings.Contains(text, from) {
			t.Fatalf("%q is not in\n%s", from, text)
		}
		if _, err := parse([]byte(strings.Replace(text, from, to, 1))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", to, err, want)
		}
	}
}

func FuzzRecords(f *testing.F) {
	f.Add(sample().Text(), "a/one")
	f.Add([]byte("{}"), "a")
	f.Add([]byte("a:\n  met: [{on: [x], says: y}]\n"), "a")
	f.Fuzz(func(t *testing.T, text []byte, id string) {
		all, err := parse(text)
		for _, r := range all {
			if err == nil && (len(r.Met) == 0 || slices.ContainsFunc(r.Met, func(m Meeting) bool { return m.Says == "" || m.Host == "" })) {
				t.Fatalf("half a record was read: %+v", r)
			}
		}
		if cut, _ := strictyaml.Only(text, id); bytes.Count(cut, []byte("\n")) > bytes.Count(text, []byte("\n"))+1 {
			t.Fatalf("%q has more lines than %q", cut, text)
		}
	})
}
