package lab

import (
	"strings"
	"testing"

	"plumb/internal/lab/report"
	"plumb/internal/stats"
	"plumb/internal/view/page"
	"plumb/internal/view/viewtest"
)

// TestDipsAreSaid on the page and on the screen, and nothing where there are none.
func TestDipsAreSaid(t *testing.T) {
	r := viewtest.SampleReport(8)
	if all := dipSentences(r); len(all) > 0 {
		t.Errorf("%q", all)
	}
	r.Arms[1].Dips = &report.Dips{Every: stats.Estimate{Value: 15, Low: 14.5, High: 15.5, N: 6}, Length: stats.Estimate{Value: 3, Low: 2.5, High: 3.5, N: 6},
		Depth: stats.Estimate{Value: 0.47, Low: 0.45, High: 0.49, N: 8}, N: 8, P: 0.0005}
	const want = "ext4, 1: every 15.0 s (14.5 to 15.5) the rate falls by 47 % (45 to 49 %), for 3.00 s (2.50 to 3.50): 8 dips."
	if all := dipSentences(r); len(all) != 1 || all[0] != want {
		t.Errorf("%q, want %q", all, want)
	}
	if text := Text(r, page.Screen{Width: 80}); !strings.Contains(strings.Join(strings.Fields(text), " "), want) || !strings.Contains(text, "(2.50 to 3.50)") {
		t.Error(text)
	}
	if html := string(samplePage(t, r)); !strings.Contains(html, "the rate falls by") {
		t.Error("the page does not say it")
	}
	d := Document(r, "test").Arms
	if d[0].Dips != nil || d[1].Dips == nil || d[1].Dips.Count != 8 || *d[1].Dips.Depth.Value != 0.47 {
		t.Errorf("JSON has %+v", d[1].Dips)
	}
}
