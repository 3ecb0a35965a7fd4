package load_test

import (
	"os"
	"strings"
	"testing"
)

func TestFileIO(t *testing.T) {
	dir := t.TempDir()
	at := []string{"--dir", dir, "--file-num=2", "--file-total-size=8M"}
	plumb(t, 0, args([]string{"fileio", "prepare"}, at)...)
	out, _ := plumb(t, 0, args([]string{"fileio", "run", "--file-test-mode=rndrw", "--time=1", "--json"}, at)...)
	var r result
	document(t, "load", out, &r)
	if ratio := float64(r.Total.Reads) / float64(r.Total.Writes); r.Total.Writes == 0 || ratio < 1.45 || ratio > 1.55 {
		t.Errorf("%+v: reads by writes is %g, want 1.5", r.Total, ratio)
	}
	out, _ = plumb(t, 0, args([]string{"fileio", "run", "--file-test-mode=rndrd", "--threads=1,2,4,8", "--time=1"}, at)...)
	reads(t, out, `^read +per second`, `^1 thread `, `^8 threads `, `^(best|curve) `)
	out, _ = plumb(t, 0, args([]string{"fileio", "run", "--file-test-mode=rndrd", "--threads=1,2", "--time=1", "--json"}, at)...)
	var sweep struct{ Levels []result }
	document(t, "load-sweep", out, &sweep)
	if len(sweep.Levels) != 2 {
		t.Errorf("%d levels", len(sweep.Levels))
	}
	out, _ = plumb(t, 0, args([]string{"fileio", "run", "--file-test-mode=rndwr", "--time=2", "--report=sysbench", "--interval=1"}, at)...)
	reads(t, out, `^\[ 1s \] reads: 0\.00 MiB/s writes: `, `^    writes/s: +[\d.]+$`, `^    fsyncs/s: +[\d.]+$`)
	plumb(t, 0, args([]string{"fileio", "cleanup"}, at)...)
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestFsync(t *testing.T) {
	dir := t.TempDir()
	out, _ := plumb(t, 0, "fsync", dir, "--time=0.1")
	reads(t, out, `^durable writes in `, `^overwrite, fsync +[\d,.]+ `, `^append, fdatasync +[\d,.]+ `)
	if strings.Contains(out, "NaN") || strings.Contains(out, "%!") {
		t.Errorf("not fit to print:\n%s", out)
	}
	out, _ = plumb(t, 0, "fsync", dir, "--time=0.1", "--json")
	var doc struct{ Rows []struct{ Rate float64 } }
	document(t, "load-fsync", out, &doc)
	if len(doc.Rows) < 8 {
		t.Errorf("%d rows", len(doc.Rows))
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
