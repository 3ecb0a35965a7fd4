package monitoring

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/test/program"
	"plumb/test/sandbox"
)

// TestForecastFromPrometheus lets a real Prometheus tell what node_exporter would have told
// of a filesystem for two months, and forecasts it.
func TestForecastFromPrometheus(t *testing.T) {
	bin := programs(t)
	dir := t.TempDir()
	const size, each, days = 200e9, 1e9, 60
	now := time.Now().Truncate(time.Minute)
	lines := filepath.Join(dir, "metrics.om")
	if err := os.WriteFile(lines, []byte(grownFilesystem(now, days, size, each)), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(bin+"/promtool", "tsdb", "create-blocks-from", "openmetrics", lines, dir+"/data").CombinedOutput(); err != nil {
		t.Fatalf("promtool: %v\n%s", err, out)
	}
	file := filepath.Join(dir, "prometheus.yaml")
	if err := os.WriteFile(file, []byte("scrape_configs: []\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	at := fmt.Sprintf("127.0.0.1:%d", sandbox.FreePort(t))
	stop := start(t, bin+"/prometheus", "--config.file="+file, "--storage.tsdb.path="+dir+"/data", "--storage.tsdb.retention.time=2y", "--web.listen-address="+at)
	e := engine{"Prometheus", "http://" + at, stop}.ready(t)

	p := program.ForTest(t)
	var doc struct {
		Forecasts []struct {
			Of        string
			History   int `json:"history_days"`
			Quantiles map[string]float64
			Limit     struct{ Bytes float64 }
			Full      struct{ P50 string }
			Rests     []string `json:"assumptions"`
		}
	}
	out, err := exec.Command(p.Path, "forecast", "space", "--prometheus", e.url, "--at", "+90d", "--json").Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderrOf(err))
	}
	if err := json.Unmarshal(out, &doc); err != nil || len(doc.Forecasts) != 1 {
		t.Fatalf("%v\n%s", err, out)
	}
	f := doc.Forecasts[0]
	if f.Of != "db1:9100 /var/lib/mysql" || f.History < days-2 || math.Abs(f.Limit.Bytes-0.95*size) > 1 {
		t.Errorf("%+v", f)
	}
	if !strings.Contains(strings.Join(f.Rests, "\n"), "this Prometheus keeps 2y of the past") {
		t.Errorf("how long it keeps what it knows is not told: %q", f.Rests)
	}
	if want := 50e9 + (days+90)*each; math.Abs(f.Quantiles["50"]-want) > 0.1*want {
		t.Errorf("%g taken in 90 days, want about %g", f.Quantiles["50"], want)
	}
	full, err := time.Parse(time.DateOnly, f.Full.P50)
	if days := full.Sub(now).Hours() / 24; err != nil || days < 70 || days > 90 { // 80 GB are left, of one a day
		t.Errorf("full on %q, in %.0f days", f.Full.P50, days)
	}
	_, err = exec.Command(p.Path, "forecast", "space", "--prometheus", e.url, "--query", "nonsense(").Output()
	if text := stderrOf(err); !strings.Contains(text, "parse error") {
		t.Errorf("what Prometheus says of a wrong query is not told: %s", text)
	}
}

func stderrOf(err error) string {
	if e, ok := err.(*exec.ExitError); ok {
		return string(e.Stderr)
	}
	return fmt.Sprint(err)
}

// grownFilesystem writes two months of a filesystem of which 50 GB were taken at first,
// a value each four minutes for the last hour of each day: Prometheus looks back five.
func grownFilesystem(now time.Time, days int, size, each float64) string {
	var b strings.Builder
	value := map[string]func(day float64) float64{
		"node_filesystem_size_bytes":  func(float64) float64 { return size },
		"node_filesystem_free_bytes":  func(day float64) float64 { return size - 50e9 - each*day },
		"node_filesystem_avail_bytes": func(day float64) float64 { return 0.95*size - 50e9 - each*day }, // root keeps a twentieth back
	}
	for _, name := range []string{"node_filesystem_size_bytes", "node_filesystem_free_bytes", "node_filesystem_avail_bytes"} {
		fmt.Fprintf(&b, "# TYPE %s gauge\n", name)
		for day := range days + 1 {
			for minute := 60; minute >= -60; minute -= 4 {
				at := now.AddDate(0, 0, day-days).Add(-time.Duration(minute) * time.Minute)
				if at.After(now) {
					continue
				}
				fmt.Fprintf(&b, "%s{instance=\"db1:9100\",mountpoint=\"/var/lib/mysql\",fstype=\"ext4\"} %.0f %d\n", name, value[name](float64(day)), at.Unix())
			}
		}
	}
	return b.String() + "# EOF\n"
}
