package fix_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"plumb/test/sandbox"
)

// A server that will never run again: its file goes back, what was in its memory is forgotten, and history says which is which.
func TestForgetAServerThatIsGone(t *testing.T) {
	sandbox.NeedLong(t, "starts a real server: run without -short")
	port, box := sandbox.FreePort(t), sandbox.ForTest(t, "")
	s, err := box.MySQL(sandbox.MySQLOptions{Name: "gone", Port: port, Settings: "innodb_io_capacity = 200"})
	must(t, err)
	conf, journal := filepath.Join(filepath.Dir(s.Socket), "my.cnf"), filepath.Join(t.TempDir(), "plumb")
	was := content(conf)
	plumb(t, 0, "fix", "--yes", "--state", journal, "--set", fmt.Sprintf("mysql:%d#innodb_io_capacity=900", port))
	must(t, s.Stop())
	must(t, os.RemoveAll(s.Dir))
	out, errs := plumb(t, 1, "undo", "--yes", "--keep", "--state", journal)
	reads(t, out, `^waits `, `1 act taken back`, `use plumb undo 1 --forget`)
	reads(t, errs, `1 act waits for mysql:.*, which does not answer`, `plumb undo 1 --forget`)
	if now := content(conf); now != was {
		t.Errorf("the file says\n%s\nit said\n%s", now, was)
	}
	out, _ = plumb(t, 0, "undo", "1", "--forget", "--yes", "--state", journal)
	reads(t, out, `^forgotten .*innodb_io_capacity: 200 -> 900`, `^1 act forgotten`)
	out, _ = plumb(t, 0, "history", "--state", journal)
	reads(t, out, `undone, 1 act forgotten$`)
	out, _ = plumb(t, 0, "undo", "--yes", "--state", journal)
	reads(t, out, `^Nothing to undo`)
}
