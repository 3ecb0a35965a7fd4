package monitoring

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"plumb/internal/catalog"
	"plumb/internal/engine/mysql"
	"plumb/internal/engine/mysql/sampler"
	"plumb/internal/engine/samplertest"
	"plumb/internal/host"
	sources "plumb/internal/sample"
	"plumb/internal/view/metrics"
	"plumb/knowledge"
	"plumb/test/sandbox"
)

// Every name of node_exporter that we use is one that a real one gives here, and of
// the same type.
func TestNamesOfNodeExporter(t *testing.T) {
	bin := programs(t)
	at := fmt.Sprintf("127.0.0.1:%d", sandbox.FreePort(t))
	start(t, bin+"/prometheus-node-exporter", "--web.listen-address="+at)
	page := ""
	eventually(t, "node_exporter answers", 30*time.Second, func() bool { page = got("http://" + at + "/metrics"); return page != "" })
	text, err := knowledge.FS.ReadFile(metrics.CompatFile)
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`name: (node_\w+)`).FindAllStringSubmatch(string(text), -1)
	if len(names) < 40 {
		t.Fatalf("only %d names", len(names))
	}
	for _, n := range names {
		if !strings.Contains(page, "\n"+n[1]+"{") && !strings.Contains(page, "\n"+n[1]+" ") {
			t.Errorf("node_exporter has no %s", n[1])
		}
	}
	var ours strings.Builder
	if err := makeHostNamed(t, false, 5000, "node").Text(&ours); err != nil {
		t.Fatal(err)
	}
	types := regexp.MustCompile(`(?m)^# TYPE node_\w+ \w+$`).FindAllString(ours.String(), -1)
	if len(types) < 30 {
		t.Errorf("only %d types: %q", len(types), types)
	}
	for _, line := range types {
		if !strings.Contains(page, line+"\n") {
			t.Errorf("node_exporter does not say %q", line)
		}
	}
}

// What a real mysqld_exporter gives of a server has the same names, types and numbers
// here. What both of them ask of it is counted too, so that the numbers are only near.
func TestNumbersOfMysqldExporter(t *testing.T) {
	bin := programs(t)
	box := sandbox.ForTest(t, "")
	server, err := box.MySQL(sandbox.MySQLOptions{})
	sandbox.Need(t, err)
	if err := server.Exec(slices.Repeat([]string{"BEGIN", "COMMIT"}, 1000)...); err != nil {
		t.Fatal(err)
	}
	dsn, at := server.User+"@unix("+server.Socket+")/", fmt.Sprintf("127.0.0.1:%d", sandbox.FreePort(t))
	t.Setenv("DATA_SOURCE_NAME", dsn)
	start(t, bin+"/prometheus-mysqld-exporter", "--web.listen-address="+at)
	theirs := ""
	eventually(t, "mysqld_exporter answers", 30*time.Second, func() bool {
		theirs = got("http://" + at + "/metrics")
		return strings.Contains(theirs, "\nmysql_up 1\n")
	})
	their, theirTypes := numbersOf(t, theirs, "mysql_")
	ours, types := numbersOf(t, statusOf(t, dsn), "mysql_")
	for name, kind := range types {
		if strings.HasSuffix(name, "_total") && theirTypes[name] != kind {
			t.Errorf("%s is a %s, and a %s there", name, kind, theirTypes[name])
		}
	}
	sameNumbers(t, ours, their)
	if commits := their["mysql_global_status_commands_total command=commit"]; len(ours) < 20 || commits != 1000 {
		t.Errorf("%d numbers are compared, and %v commits", len(ours), commits)
	}
}

// numbersOf gives the numbers of a page whose names begin so, by name and labels, and the types. Who it is about is no label
// of them, and neither is the number that a database has besides its name.
func numbersOf(t *testing.T, page, prefix string) (numbers map[string]float64, types map[string]dto.MetricType) {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	all, err := parser.TextToMetricFamilies(strings.NewReader(page))
	if err != nil {
		t.Fatalf("%v in\n%s", err, page)
	}
	numbers, types = map[string]float64{}, map[string]dto.MetricType{}
	for name, f := range all {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		types[name] = f.GetType()
		for _, m := range f.Metric {
			key := name
			for _, l := range m.Label {
				if !slices.Contains(notCompared, l.GetName()) {
					key += " " + l.GetName() + "=" + l.GetValue()
				}
			}
			numbers[key] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetUntyped().GetValue()
		}
	}
	return numbers, types
}

// notCompared are labels that only one of two exporters has.
var notCompared = []string{"server", "datid", "cl_id", "cl_role", "rs_nm", "rs_state"}

// sameNumbers compares ours with theirs, which were read at another moment.
func sameNumbers(t *testing.T, ours, theirs map[string]float64) {
	t.Helper()
	for name, a := range ours {
		if b, is := theirs[name]; !is || a > 100+10*b || b > 100+10*a {
			t.Errorf("%s is %v, and %v there (%v)", name, a, b, is)
		}
	}
}

// statusOf is a page of what we read of a server's counters, by the names of mysqld_exporter.
func statusOf(t *testing.T, dsn string) string {
	t.Helper()
	given, err := mysql.Given(dsn)
	if err != nil {
		t.Fatal(err)
	}
	h := host.NewLive(host.LiveOptions{Dialers: map[string]host.Dialer{"mysql": mysql.Dialer{}}, DSN: dsn})
	defer h.Close()
	s, _ := samplertest.LoggedIn("mysql", given.Address)
	status := sampler.New(&given).Sources(s)[0]
	e := exporterNamed(t, "mysqld")
	take(t, e, status, h)
	return textOf(t, e)
}

// exporterNamed is one that uses the names of another exporter.
func exporterNamed(t *testing.T, exporter string) *metrics.Exporter {
	t.Helper()
	cat, err := catalog.Windows(knowledge.FS)
	if err != nil {
		t.Fatal(err)
	}
	names, err := metrics.LoadCompat(knowledge.FS, cat, []string{exporter})
	if err != nil {
		t.Fatal(err)
	}
	return metrics.New(metrics.Options{Catalog: cat, Compat: names})
}

// take has what a source reads now exported.
func take(t *testing.T, e *metrics.Exporter, source sources.Source, h host.Reader) {
	t.Helper()
	b, err := source.Take(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	b.Source, b.Every, b.At = source.Name(), source.Every(), time.Now()
	e.Batch(b)
}

func textOf(t *testing.T, e *metrics.Exporter) string {
	t.Helper()
	var page strings.Builder
	if err := e.Text(&page); err != nil {
		t.Fatal(err)
	}
	return page.String()
}
