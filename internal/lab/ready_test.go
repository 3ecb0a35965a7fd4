package lab

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// reserved makes a file as InnoDB makes its redo log: the space is there, and of
// it only the beginning was ever written.
func reserved(t *testing.T, name string) []byte {
	t.Helper()
	for _, argv := range [][]string{
		{"fallocate", "-l", "4M", name},
		{"dd", "if=/dev/urandom", "of=" + name, "bs=4096", "count=1", "conv=notrunc,fsync", "status=none"},
	} {
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			t.Skipf("%s: %v: %s", argv[0], err, out)
		}
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// unwritten tells whether a filesystem knows of a part of a file that it was
// never written.
func unwritten(t *testing.T, name string) bool {
	t.Helper()
	out, err := exec.Command("filefrag", "-v", name).CombinedOutput()
	if err != nil {
		t.Skipf("filefrag: %v: %s", err, out)
	}
	return strings.Contains(string(out), "unwritten")
}

func TestLogsAreWrittenThrough(t *testing.T) {
	l := newTestLab(t, plain{}, &memory{})
	dir := t.TempDir()
	log, other := filepath.Join(dir, "ib_logfile0"), filepath.Join(dir, "ibdata1")
	text := reserved(t, log)
	reserved(t, other)
	if !unwritten(t, log) {
		t.Skip("this filesystem does not tell what was never written")
	}
	b := &bench{lab: l, data: dir}
	if err := b.rewrite(t.Context(), []string{"ib_logfile*", "#ib_redo*"}); err != nil {
		t.Fatal(err)
	}
	if unwritten(t, log) || !unwritten(t, other) {
		t.Errorf("never written: the log %v, another file %v", unwritten(t, log), unwritten(t, other))
	}
	if now, err := os.ReadFile(log); err != nil || !bytes.Equal(now, text) {
		t.Errorf("the log has other content now: %v", err)
	}
}
