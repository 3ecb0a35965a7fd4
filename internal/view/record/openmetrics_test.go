package record

import (
	"bytes"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/internal/host/hosttest"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/view/metrics/naming"
	"plumb/internal/watch/record"
	"plumb/test/sandbox"
)

var night = time.Date(2026, 11, 25, 3, 0, 0, 0, time.UTC)

// exported writes an hour of made values: a counter of milliseconds, a gauge of
// bytes, a process that is a server's and one that is not, a name that is no fact.
func exported(t *testing.T, most int) string {
	t.Helper()
	cat := hosttest.Windows(t)
	picture, seen := &stack.Stack{}, stack.Observation{}
	seen.New("mysql", "3306").Link("process", stack.Ref{Kind: "process", Name: "17"})
	seen.New("process", "17")
	picture.Add("made", seen)
	reads := 0
	o := OpenMetrics{Catalog: cat, Labels: map[string]string{"instance": "db1", "device": "mine"}, most: most}
	o.Each = func(do func(record.Item) error) error {
		reads++
		err := do(record.Item{At: night, Picture: picture})
		for i := range 3600 {
			at := night.Add(time.Duration(i) * time.Second)
			b := series.Batch{Source: "block", Every: time.Second, At: at}
			b.Set(stack.Ref{Kind: "block", Name: "sda"}, "read_ms", float64(7*i))
			b.Set(stack.Ref{Kind: "block", Name: `a"b\c`}, "read_ms", 1)
			b.Set(stack.Ref{Kind: "mysql", Name: "3306"}, "sent_bytes", float64(i)*1e6)
			b.Set(stack.Ref{Kind: "mysql", Name: "3306"}, "sessions_active", math.NaN())
			b.Set(stack.Ref{Kind: "mysql", Name: "3306"}, "no_such_fact", 1)
			b.Set(stack.Ref{Kind: "process", Name: "17"}, "read_bytes", float64(i))
			b.Set(stack.Ref{Kind: "process", Name: "18"}, "read_bytes", 1)
			err = errors.Join(err, do(record.Item{At: at, Batch: &b}))
			if i == 100 { // the clock was set back: the same second once more
				err = errors.Join(err, do(record.Item{At: at, Batch: &b}))
			}
		}
		return err
	}
	var out bytes.Buffer
	if err := o.Write(&out); err != nil {
		t.Fatal(err)
	}
	if most == 5000 && reads < 3 {
		t.Errorf("what does not fit into memory was read %d times only", reads)
	}
	return out.String()
}

func TestOpenMetricsHasUnitsLabelsAndTimes(t *testing.T) {
	whole, little := exported(t, 0), exported(t, 5000)
	if whole != little {
		t.Error("with little memory something else is written")
	}
	for _, want := range []string{
		"# TYPE plumb_block_read_seconds counter\n",
		`plumb_block_read_seconds_total{device="sda",instance="db1"} 0.007 1795575601.000` + "\n",
		`plumb_block_read_seconds_total{device="a\"b\\c",instance="db1"} 0.001 1795575600.000` + "\n",
		`plumb_mysql_sent_bytes_total{device="mine",instance="db1",server="mysql:3306"} 3.599e+09 1795579199.000` + "\n",
		`plumb_process_read_bytes_total{device="mine",instance="db1",server="mysql:3306"} 5 1795575605.000` + "\n",
	} {
		if !strings.Contains(whole, want) {
			t.Errorf("there is no line %s", want)
		}
	}
	for _, bad := range []string{"NaN", "no_such_fact", `"18"`} {
		if strings.Contains(whole, bad) {
			t.Errorf("it holds %s", bad)
		}
	}
	if !strings.HasSuffix(whole, "\n# EOF\n") {
		t.Error("it does not end")
	}
	if n := strings.Count(whole, "# TYPE plumb_block_read_seconds "); n != 1 {
		t.Errorf("one name is there in %d places", n)
	}
	if n := strings.Count(whole, `plumb_process_read_bytes_total{`); n != 3600 {
		t.Errorf("%d values of a server's process, want one a second", n)
	}
}

// A family of the form is named without the ending of a counter: a gauge must not
// have that name too.
func TestFamiliesOfTheForm(t *testing.T) {
	cat := hosttest.Windows(t)
	had := map[string]string{}
	for _, k := range cat.Kinds {
		for _, f := range k.Facts {
			s, ok := naming.ShapeOf(f)
			if !ok || f.OverTime != stack.Counter && f.OverTime != stack.Gauge {
				continue
			}
			name := strings.TrimSuffix(s.Name, naming.Total)
			if other := had[name]; other != "" {
				t.Errorf("%s and %s %s are both %s", other, k.Name, f.Name, name)
			}
			had[name] = k.Name + " " + f.Name
		}
	}
}

func TestPromtoolMakesBlocksOfIt(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		sandbox.NeedTime(t, "promtool is not installed, and is fetched: make test-real")
		bin, err := sandbox.Monitoring()
		sandbox.Need(t, err)
		promtool = filepath.Join(bin, "promtool")
	}
	dir := t.TempDir()
	file, blocks := filepath.Join(dir, "part.om"), filepath.Join(dir, "blocks")
	if err := os.WriteFile(file, []byte(exported(t, 0)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), promtool, "tsdb", "create-blocks-from", "openmetrics", file, blocks).CombinedOutput(); err != nil {
		t.Fatalf("promtool: %v\n%s", err, out)
	}
	if err := os.MkdirAll(filepath.Join(blocks, "wal"), 0o700); err != nil { // dump wants to see one
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), promtool, "tsdb", "dump", blocks).CombinedOutput()
	if err != nil {
		t.Fatalf("promtool tsdb dump: %v\n%.500s", err, out)
	}
	dump := string(out)
	if n := strings.Count(dump, `__name__="plumb_block_read_seconds_total"`); n != 2*3600 {
		t.Errorf("%d values of the counter are in the blocks, want 7200", n)
	}
	if !strings.Contains(dump, "25.193 1795579199000") { // 7 ms × 3,599
		t.Error("the last value is not in the blocks")
	}
}
