// Package fix_test runs plumb fix, undo, confirm and history as a user does:
// the built program on private servers and directories.
package fix_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumb/test/program"
	"plumb/test/sandbox"
)

// What the tests have in common: the program, and servers.
var (
	built   program.Program
	servers = sandbox.Shared{Start: start}
)

func TestMain(m *testing.M) { program.Main(m, &built, servers.Close) }

// server gives the private server of an engine.
func server(t *testing.T, engine string) *sandbox.Server {
	t.Helper()
	return servers.Server(t, engine)
}

func start(b *sandbox.Box, engine string) (*sandbox.Server, error) {
	if engine == "mysql" {
		return b.MySQL(sandbox.MySQLOptions{Name: "my", Port: 14963, Settings: "sync_binlog=0 # for speed\nlog_bin\nserver_id=1\ninnodb_io_capacity = 200"})
	}
	if engine == "mongo" {
		return b.Mongo(sandbox.MongoOptions{Port: 14965, Storage: "  journal:\n    commitIntervalMs: 80 # for speed\n"})
	}
	return b.Postgres(sandbox.PostgresOptions{Name: "pg", Port: 14964})
}

func must(t *testing.T, err error) { t.Helper(); sandbox.Need(t, err) }

func plumb(t *testing.T, code int, args ...string) (out, errs string) {
	t.Helper()
	return built.Run(t, code, args...)
}

func reads(t *testing.T, text string, expressions ...string) {
	t.Helper()
	program.Reads(t, text, expressions...)
}

// content gives a file's text, and "(none)" for no file.
func content(name string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		return "(none)"
	}
	return string(text)
}

// image makes a directory that looks like an unpacked image.
func image(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"/etc/sysctl.conf":       "# by hand\r\nvm.swappiness = 30\r\n",
		"/etc/tmpfiles.d/x.conf": "w /sys/kernel/mm/transparent_hugepage/enabled - - - - always\n",
	} {
		must(t, os.MkdirAll(filepath.Dir(dir+name), 0o755))
		must(t, os.WriteFile(dir+name, []byte(text), 0o644))
	}
	return dir
}

// tree gives all files below a directory, but for journals.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	must(t, filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.Contains(name, "/var/lib/plumb/") {
			fmt.Fprintf(&b, "%s: %q\n", strings.TrimPrefix(name, dir), content(name))
		}
		return err
	}))
	return b.String()
}

// The lasting half goes into an image, edits what stands there, and undo
// gives the same bytes.
func TestImage(t *testing.T) {
	dir := image(t)
	was := tree(t, dir)
	sets := []string{"--set", "host:x#vm_swappiness=10", "--set", "host:x#thp_enabled=never", "--set", "host:x#vm_max_map_count=262144"}
	out, _ := plumb(t, 0, append([]string{"fix", "--root", dir, "--yes"}, sets...)...)
	reads(t, out, `^Change 1: 3 steps done`)
	after := tree(t, dir)
	reads(t, after, `/etc/sysctl.conf: "# by hand\\r\\nvm.swappiness = 10\\r\\n"$`, `/x.conf: "w .* - - - - never\\n"$`, `99-zz-plumb.conf: .*vm.max_map_count = 262144`)
	plumb(t, 0, append([]string{"fix", "--root", dir, "--yes"}, sets...)...)
	plumb(t, 0, "undo", "--root", dir, "--all", "--yes")
	if now := tree(t, dir); now != was {
		t.Errorf("undo left\n%s\nin place of\n%s", now, was)
	}
	out, _ = plumb(t, 0, "undo", "--root", dir, "--yes")
	reads(t, out, `^Nothing to undo`)
}
