package load

import "time"

// jump is how far the wall clock may move against the monotonic one within a
// second before it counts as a jump: clock discipline slews by half a
// millisecond.
const jump = 50 * time.Millisecond

// clocks compares the wall clock with the monotonic one. Everything is
// measured by the monotonic one, so a jump spoils no number; but a machine
// that was suspended or moved shows as one, and that spoils the run.
type clocks struct {
	start  time.Time // monotonic
	wall   time.Time
	read   func() time.Time // the wall clock
	ahead  time.Duration    // of the wall clock at the last look
	jumped time.Duration    // the largest jump
}

func startClocks() clocks {
	wall := func() time.Time { return time.Now().Round(0) }
	return clocks{start: time.Now(), wall: wall(), read: wall}
}

// compare looks at both clocks; elapsed is the monotonic time since start.
func (c *clocks) compare(elapsed time.Duration) {
	ahead := c.read().Sub(c.wall) - elapsed
	if d := ahead - c.ahead; d.Abs() > jump && d.Abs() > c.jumped.Abs() {
		c.jumped = d
	}
	c.ahead = ahead
}
