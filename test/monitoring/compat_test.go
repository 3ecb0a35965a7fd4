package monitoring

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

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
