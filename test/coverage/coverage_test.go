package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/coverage"
	"plumb/internal/rule"
)

// TestRecordsAreOfThisTree finds all meetings with captured hosts again.
func TestRecordsAreOfThisTree(t *testing.T) {
	var out bytes.Buffer
	if err := run(&out, "../..", false, nil); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// TestStaleRecordsAreNoticed takes all meetings away, and adds one that never was.
func TestStaleRecordsAreNoticed(t *testing.T) {
	root := tree(t)
	name := filepath.Join(root, records)
	if err := run(&bytes.Buffer{}, root, true, nil); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	const one = "    - {on: [mariadb 10.11"
	before, after, found := strings.Cut(string(text), one)
	if !found {
		t.Fatalf("no rule has met MariaDB 10.11:\n%.500s", text)
	}
	for what, c := range map[string]struct {
		text string
		want error
	}{
		"as written":       {string(text), nil},
		"nothing recorded": {"{}\n", errStale},
		"one invented":     {before + "    - {on: [mariadb 9.9.9], says: fires, host: nowhere}\n" + one + after, errStale},
	} {
		if err := os.WriteFile(name, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := run(&bytes.Buffer{}, root, false, nil); err != c.want {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
	}
}

// TestLiveHostsAreKept records a host that was read live, and finds it again
// in the file when only the tapes are there.
func TestLiveHostsAreKept(t *testing.T) {
	root := tree(t)
	live := filepath.Join(root, "TestCheckOnOpenZFS.json")
	const stack = `{"plumb": 1, "kind": "stack", "stack": {"taken_at": "2026-11-22T09:00:00Z", "root": true, "roles": [], "gaps": [],
		"things": [{"ref": "host:host", "facts": {"kernel": {"value": "6.18.44", "source": "test"}}},
			{"ref": "pool:tank", "facts": {"health": {"value": "ONLINE", "source": "test"}, "capacity": {"value": 95.5, "source": "test"}, "size": {"value": 107374182400, "source": "test"}, "free": {"value": 4831838208, "source": "test"}, "data_errors": {"value": 0, "source": "test"}}},
			{"ref": "zfs:module", "facts": {"implementation": {"value": "openzfs", "source": "test"}, "version": {"value": "2.3.4", "source": "test"}}}]}}`
	if err := os.WriteFile(live, []byte(stack), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, files := range [][]string{{live}, nil} { // the second time it is found in the file
		if err := run(&bytes.Buffer{}, root, true, files); err != nil {
			t.Fatal(err)
		}
		got, err := coverage.Read(os.DirFS(filepath.Join(root, "knowledge")))
		if err != nil {
			t.Fatal(err)
		}
		want := coverage.Meeting{On: []coverage.Product{{Name: "openzfs", Version: "2.3.4"}}, Says: rule.Fires, Host: "TestCheckOnOpenZFS", Day: "2026-11-22"}
		found := false
		for _, m := range got["zfs/capacity-90"].Met {
			found = found || m.Host == want.Host && m.Day == want.Day && m.Says == want.Says && len(m.On) == 1 && m.On[0] == want.On[0]
		}
		if !found {
			t.Errorf("with %v: %v", files, got["zfs/capacity-90"])
		}
	}
	if err := run(&bytes.Buffer{}, root, false, nil); err != nil {
		t.Error(err)
	}
}

// TestOtherFilesAreRefused gives what is no stack, or has no day.
func TestOtherFilesAreRefused(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.json")
	for text, want := range map[string]string{
		"no JSON":                        "invalid character",
		`{"kind": "check", "stack": {}}`: "not a document of plumb stack",
		`{"kind": "stack", "stack": {}}`: "does not say when",
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := hosts(t.TempDir(), []string{name}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// tree makes a root with two tapes and the records of this tree.
func tree(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for _, name := range []string{records, "fixtures/mariadb-ext4.tape.gz", "fixtures/mariadb-zfs-128K.tape.gz"} {
		text, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}
