package monitoring

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"plumb/internal/catalog"
	"plumb/internal/cli/watch/outlet"
	"plumb/internal/view/metrics"
	"plumb/knowledge"
	"plumb/test/sandbox"
)

func contextOf(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	return ctx, cancel
}

// Every expression of the dashboard gives data, and every alert is about the
// host that is sick and never about the one that is not: asked of a real
// Prometheus that scrapes both, and of a real VictoriaMetrics to which both are
// sent. The hosts are made up.
func TestDashboardAndAlerts(t *testing.T) {
	bin := programs(t)
	sick, healthy, crowded := makeHost(t, true, 5000), makeHost(t, false, 5000), makeHost(t, true, 300)
	rules, err := metrics.Alerts(knowledge.FS)
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]string{}
	for name, m := range map[string]*made{"sick": sick, "healthy": healthy} {
		m.live(t)
		at[name], _ = serve(t, m.Exporter)
	}
	crowded.live(t)
	var gone func()
	at["crowded"], gone = serve(t, crowded.Exporter)
	p := prometheus(t, bin, rules, at)
	v := victoria(t, bin, t.TempDir(), sandbox.FreePort(t))
	for name, m := range map[string]*made{"sick": sick, "healthy": healthy} {
		send(t, m.Exporter, v.url+"/api/v1/write", name)
	}
	sending := send(t, crowded.Exporter, v.url+"/api/v1/write", "crowded")
	for _, e := range []engine{p, v} {
		eventually(t, "three hosts are in "+e.name, time.Minute, func() bool {
			return len(e.query(t, `count by (instance) (count_over_time(plumb_build_info[1h]) > 5)`)) == 3
		})
	}
	crowdedLeft := func(e engine) bool {
		return strings.Contains(instances(e.query(t, "plumb_series_left_out > 0")), "crowded")
	}
	if !crowdedLeft(p) || !crowdedLeft(v) {
		t.Error("nothing tells that series are left out")
	}
	gone()
	sending()
	time.Sleep(6 * time.Second)
	for _, e := range []engine{p, v} {
		dashboardGivesData(t, e)
		alertsAreRight(t, e, rules)
	}
}

// send sends a host's metrics every second, until the test ends or it is
// stopped. The end of a host is told as its own command tells it: not at all.
func send(t *testing.T, e *metrics.Exporter, url, instance string) (stop func()) {
	t.Helper()
	return sendTo(t, e, outlet.Target{URL: url}, instance, func(err error) {
		if err != nil {
			t.Log(err)
		}
	})
}

func sendTo(t *testing.T, e *metrics.Exporter, target outlet.Target, instance string, changed func(error)) (stop func()) {
	t.Helper()
	push, err := outlet.NewPush(target, "plumb/test", changed)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := contextOf(t)
	done := make(chan struct{}, 2)
	remote := e.Remote(map[string]string{"instance": instance, "job": "plumb"})
	go func() { push.Run(ctx); done <- struct{}{} }()
	go func() {
		defer func() { done <- struct{}{} }()
		for ctx.Err() == nil {
			push.Add(remote.Request(time.Now()))
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
		}
	}()
	stop = sync.OnceFunc(func() { cancel(); <-done; <-done })
	t.Cleanup(stop)
	return stop
}

func dashboardGivesData(t *testing.T, e engine) {
	t.Helper()
	cat, err := catalog.Windows(knowledge.FS)
	if err != nil {
		t.Fatal(err)
	}
	text, err := metrics.Dashboard(cat)
	if err != nil {
		t.Fatal(err)
	}
	exprs, err := metrics.Expressions(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range exprs {
		x = strings.NewReplacer("$__rate_interval", "10s", "$instance", ".+").Replace(x)
		if got := instances(e.query(t, x)); !strings.Contains(got, "sick") {
			t.Errorf("%s: %s gives nothing of the sick host: %s", e.name, x, got)
		}
	}
	t.Logf("%s: %d expressions of the dashboard give data", e.name, len(exprs))
}

func alertsAreRight(t *testing.T, e engine, rules string) {
	t.Helper()
	var file struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	if err := yaml.Unmarshal([]byte(rules), &file); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, r := range file.Groups[0].Rules {
		want := "sick"
		if r.Alert == "PlumbAgentGone" || r.Alert == "PlumbSeriesLeftOut" {
			want = "crowded"
		}
		expr := r.Expr
		if r.Alert == "PlumbSeriesLeftOut" { // that host is gone by now
			expr = strings.Replace(expr, "plumb_series_left_out", "last_over_time(plumb_series_left_out[5m])", 1)
		}
		if r.Alert == "PlumbAgentGone" && e.name == "VictoriaMetrics" {
			// A sender that is killed ends no series: an engine goes on with the
			// last value for some time of its own.
			continue
		}
		got := instances(e.query(t, expr))
		if !strings.Contains(got, want) || strings.Contains(got, "healthy") {
			t.Errorf("%s: %s is about %q, want %s", e.name, r.Alert, got, want)
		}
		n++
	}
	t.Logf("%s: %d alerts are about the sick host, and none about the healthy one", e.name, n)
}

// promtool finds nothing wrong with a page, nor with the rules.
func TestPromtool(t *testing.T) {
	bin := programs(t)
	host := makeHost(t, true, 5000)
	var page strings.Builder
	if err := host.Text(&page); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(bin+"/promtool", "check", "metrics")
	c.Stdin = strings.NewReader(page.String())
	if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
	rules, err := metrics.Alerts(knowledge.FS)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(file, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(bin+"/promtool", "check", "rules", "--lint-fatal", file).CombinedOutput(); err != nil {
		t.Errorf("promtool check rules: %v\n%s", err, out)
	}
}

// What is sent arrives as it is, also when the receiver was away for a while,
// and a series that ended is ended there.
func TestRemoteWrite(t *testing.T) {
	bin := programs(t)
	for _, name := range []string{"Prometheus", "VictoriaMetrics"} {
		t.Run(name, func(t *testing.T) {
			dir, port := t.TempDir(), sandbox.FreePort(t)
			again := func() engine { return victoria(t, bin, dir, port) }
			if name == "Prometheus" {
				again = func() engine { return prometheus(t, bin, "", nil) }
			}
			host := makeHost(t, false, 5000)
			e := again()
			host.live(t)
			send(t, host.Exporter, e.url+"/api/v1/write", "evil \"name\"\n")
			what := `plumb_source_batches_total{source="everything"}`
			eventually(t, "a sample is there", 30*time.Second, func() bool { return len(e.query(t, what)) == 1 })
			if row := e.query(t, what)[0]; row.Metric["job"] != "plumb" || !strings.HasPrefix(row.Metric["instance"], "evil \"name\"?~") {
				t.Errorf("its labels are %v", row.Metric)
			}
			if name == "VictoriaMetrics" {
				e.stop()
				time.Sleep(5 * time.Second)
				e = again()
				eventually(t, "what was sent meanwhile is there", time.Minute, func() bool { return noHole(t, e, what) })
			}
		})
	}
}

// The Prometheus and the VictoriaMetrics of the test set-up know remote write 1.0
// alone, and are sent that after the first request. PLUMB_PROMETHEUS names a
// Prometheus that knows 2.0, which is what it then gets.
func TestRemoteWrite2(t *testing.T) {
	bin := programs(t)
	for name, engineOf := range map[string]func(*testing.T) engine{
		"Prometheus":      func(t *testing.T) engine { return prometheus(t, bin, "", nil) },
		"VictoriaMetrics": func(t *testing.T) engine { return victoria(t, bin, t.TempDir(), sandbox.FreePort(t)) },
		"newer Prometheus": func(t *testing.T) engine {
			newer := os.Getenv("PLUMB_PROMETHEUS")
			if newer == "" {
				t.Skip("PLUMB_PROMETHEUS names no Prometheus that knows remote write 2.0")
			}
			return prometheus(t, filepath.Dir(newer), "", nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			host, e := makeHost(t, false, 5000), engineOf(t)
			host.live(t)
			said := make(chan string, 100)
			stop := sendTo(t, host.Exporter, outlet.Target{URL: e.url + "/api/v1/write", Second: true}, "db1", func(err error) { said <- fmt.Sprint(err) })
			what := `plumb_source_batches_total{source="everything",job="plumb",instance="db1"}`
			eventually(t, "a dozen samples are there", time.Minute, func() bool { return noHole(t, e, what) })
			stop()
			close(said)
			all := ""
			for text := range said {
				all += text + "\n"
			}
			if older := strings.Contains(all, "sending 1.0"); older != (name != "newer Prometheus") || strings.Count(all, "\n") > 1 {
				t.Errorf("it said %q", all)
			}
		})
	}
}

// noHole tells whether the last 12 s have a sample for every second, but one or
// two at their ends.
func noHole(t *testing.T, e engine, what string) bool {
	t.Helper()
	return len(e.query(t, fmt.Sprintf("count_over_time(%s[12s]) >= 10", what))) == 1
}

// A series whose source is late ends at once, rather than after the five
// minutes for which Prometheus goes on with a last value.
func TestSeriesEnd(t *testing.T) {
	bin := programs(t)
	host := makeHost(t, false, 5000)
	end := host.live(t)
	at, _ := serve(t, host.Exporter)
	scraped, sent := prometheus(t, bin, "", map[string]string{"scraped": at}), prometheus(t, bin, "", nil)
	send(t, host.Exporter, sent.url+"/api/v1/write", "sent")
	for _, e := range []engine{scraped, sent} {
		eventually(t, "it is there", 30*time.Second, func() bool { return len(e.query(t, `plumb_mysql_questions_total`)) == 1 })
	}
	end()
	for _, e := range []engine{scraped, sent} {
		eventually(t, "the source is late", 30*time.Second, func() bool { return len(e.query(t, `plumb_source_up{source="everything"} == 0`)) == 1 })
		eventually(t, "its series ended", time.Minute, func() bool { return len(e.query(t, `plumb_mysql_questions_total`)) == 0 })
		if len(e.query(t, `plumb_build_info`)) != 1 {
			t.Error("all series ended")
		}
	}
}

// A node_exporter takes the file.
func TestTextfileIsTaken(t *testing.T) {
	bin := programs(t)
	host, dir := makeHost(t, false, 5000), t.TempDir()
	if err := (outlet.Textfile{Path: filepath.Join(dir, "plumb.prom")}).Write(host.Text); err != nil {
		t.Fatal(err)
	}
	at := fmt.Sprintf("127.0.0.1:%d", sandbox.FreePort(t))
	start(t, bin+"/prometheus-node-exporter", "--web.listen-address="+at, "--collector.disable-defaults", "--collector.textfile", "--collector.textfile.directory="+dir)
	eventually(t, "node_exporter shows plumb's metrics", 30*time.Second, func() bool {
		out, err := exec.Command("curl", "-s", "http://"+at+"/metrics").Output()
		return err == nil && strings.Contains(string(out), "plumb_build_info{") && strings.Contains(string(out), "node_textfile_scrape_error 0")
	})
}
