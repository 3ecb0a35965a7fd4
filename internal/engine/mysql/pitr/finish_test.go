package pitr

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plumb/internal/backup/moment"
	"plumb/internal/host/hosttest"
	"plumb/internal/protect"
)

// A server that was unpacked is found in PATH, if it is of the release; why others are none is told.
func TestServerInPath(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "mysqld")
	if err := os.WriteFile(file, []byte("#!/bin/sh\necho \"$0  Ver 99.7.4 for Linux on x86_64 (MySQL Community Server - GPL)\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	for version, want := range map[string]string{"99.7.1": "", "99.8.0": file + ": it is mysql 99.7.4, and not of the release mysql 99.8"} {
		sv := protect.Server{Flavor: "mysql", Product: "MySQL " + version, Version: version}
		r := newReplaying(t.Context(), hosttest.LiveDoer(t), inner{base: base{server: sv}, server: sv}, moment.At{})
		err := r.program()
		if want == "" && (err != nil || !slices.Equal(r.server.Program, []string{file})) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %q, %v", version, r.server.Program, err)
		}
	}
}
