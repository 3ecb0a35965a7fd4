package volume

import (
	"testing"
	"time"
)

// What fills the caches goes at full speed, and what is measured is held again.
func TestLiveLimitHoldsAgain(t *testing.T) {
	const asked, seconds = 300, 2
	l, dir := liveVolume(t, "ext4", "iops=300")
	var err error
	if l.gate, err = findGate(t.Context(), l.do, ""); err != nil { // as Limit would; measuring takes long
		t.Fatal(err)
	}
	must(t, l.Again(t.Context()))
	must(t, l.Unlimit(t.Context()))
	if free := sum(drive(t, dir, 4096, 8, onlyReads, seconds*time.Second)) / seconds; free < 2*asked {
		t.Skipf("without a limit the disk does %d reads a second: too few to tell", free)
	}
	must(t, l.Again(t.Context()))
	if held := sum(drive(t, dir, 4096, 8, onlyReads, seconds*time.Second)) / seconds; held > asked*11/10 {
		t.Errorf("%d reads a second, and the limit is %d", held, asked)
	}
}
