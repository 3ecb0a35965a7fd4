package galera

import (
	"strings"
	"testing"
)

// TestTransfer has two nodes join a cluster by points: the third while the others are written to.
func TestTransfer(t *testing.T) {
	c := newCluster(t)
	c.fill(20)
	c.join(1)
	t.Logf("donor: %q", c.said(0))
	l := c.load(0, 1)
	c.join(2)
	l.stop()
	c.same(0, 1, 2)
	for n := range 2 {
		t.Logf("node %d: the longest statement under load %s; plumb said %q", n, l.slow[n], c.said(n))
	}
	t.Logf("%d rows were written meanwhile; node 2: %q", l.rows.Load(), c.said(2))
	if !strings.Contains(strings.Join(append(c.said(0), c.said(1)...), " "), "stood still for") {
		t.Error("no donor gave its point")
	}
	c.nothingLeft()
}
