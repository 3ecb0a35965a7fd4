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

// Every name of node_exporter that we use is one that a real one gives here.
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
}
