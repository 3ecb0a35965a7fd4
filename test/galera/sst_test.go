package galera

import (
	"fmt"
	"strings"
	"testing"

	"plumb/test/sandbox"
)

// TestTransfer has a second node join a cluster by a point, while the first is written to.
func TestTransfer(t *testing.T) {
	c := newCluster(t)
	c.fill(2)
	l := c.load(0)
	c.join(1)
	l.stop()
	c.report(l, 0, 1)
	c.same(0, 1)
	c.nothingLeft()
}

// TestThreeNodes has a third node join while the other two are written to.
func TestThreeNodes(t *testing.T) {
	sandbox.NeedTime(t, "three nodes under load take a minute: make test-real")
	c := newCluster(t)
	c.fill(200)
	c.join(1)
	l := c.load(0, 1)
	c.join(2)
	l.stop()
	c.report(l, 0, 1, 2)
	c.same(0, 1, 2)
	c.nothingLeft()
}

// report says what a transfer cost.
func (c *cluster) report(l *load, nodes ...int) {
	c.t.Helper()
	var all []string
	for _, n := range nodes {
		for _, line := range c.said(n) {
			all = append(all, fmt.Sprintf("node %d: %s", n, line))
		}
	}
	text := strings.Join(all, "\n")
	c.t.Logf("%d rows written meanwhile; the longest statement on each node %v\n%s", l.rows.Load(), l.slow, text)
	for _, want := range []string{"to stop, and stood still for", "sent ", "received "} {
		if !strings.Contains(text, want) {
			c.t.Errorf("nobody says %q", want)
		}
	}
}
