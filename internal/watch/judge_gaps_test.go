package watch_test

import (
	"fmt"
	"testing"
	"time"

	"plumb/internal/series"
	"plumb/internal/stack"
)

// What cannot be seen is listed as far as there is room, and what is not listed is counted.
func TestGapsWithoutEnd(t *testing.T) {
	for many, want := range map[int]string{
		200: "199 is closed",
		201: "not listed: 1 more thing that cannot be seen",
		900: "not listed: 700 more things that cannot be seen",
	} {
		j := judge()
		j.Picture(start, picture())
		for second := range 10 {
			b := series.Batch{Source: "filesystems", Every: time.Second, At: start.Add(time.Duration(second) * time.Second)}
			for i := range 2 * many { // each twice
				b.Gap(stack.Ref{Kind: "filesystem", Name: fmt.Sprint(i % many)}, fmt.Sprint(i%many, " is closed"), "")
			}
			j.Batch(b)
		}
		gaps := j.Moment(start).Gaps
		if last := gaps[len(gaps)-1].Why; last != want || len(gaps) > 201 {
			t.Errorf("of %d, %d are listed, and the last is %q; want %q", many, len(gaps), last, want)
		}
	}
}
