package swap

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Killed once the new cluster has its other name, the next run takes it for put aside, and keeps its configuration too.
func TestPutAsideGoesOn(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to become another user")
	}
	dir := t.TempDir()
	n := cluster{version: "17", name: "main", data: filepath.Join(dir, "17/main"), conf: filepath.Join(dir, "etc/17/main")}
	old := cluster{version: "15", name: "main"}
	put := func(name string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"/upgraded-by-plumb", "/postgresql.conf"} {
		put(n.conf + name)
	}
	put(n.data + "/PG_VERSION")
	programs := t.TempDir()
	for name, text := range map[string]string{"rm": `case "$*" in "-rf "*/etc/17/main) kill -KILL $$ ;; esac; exec /bin/rm "$@"`} {
		if err := os.WriteFile(filepath.Join(programs, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	back := func(path string) (string, error) {
		op := script(strings.ReplaceAll(putAside, "</etc/postgresql", "<"+dir), n.words(old)...)
		c := exec.Command(op.Argv[0], op.Argv[1:]...)
		c.Env = append(os.Environ(), "PATH="+path)
		out, err := c.CombinedOutput()
		return string(out), err
	}
	if out, err := back(programs + ":" + os.Getenv("PATH")); err == nil {
		t.Fatalf("it was not killed: %s", out)
	}
	if out, err := back(os.Getenv("PATH")); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	kept, _ := filepath.Glob(n.data + ".taken-back-*/PG_VERSION")
	settings, _ := filepath.Glob(n.data + ".taken-back-*/configuration/postgresql.conf")
	if _, err := os.Stat(n.conf); len(kept) != 1 || len(settings) != 1 || err == nil {
		t.Errorf("kept are %v and %v, and the configuration: %v", kept, settings, err)
	}
}
