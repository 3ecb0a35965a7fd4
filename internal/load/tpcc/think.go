package tpcc

import (
	"math"
	"time"

	"plumb/internal/draw"
)

// keyingTimes and thinkingTimes are those of the specification (5.2.5.7);
// thinking is the mean.
var (
	keyingTimes = [kinds]time.Duration{opNewOrder: 18 * time.Second, opPayment: 3 * time.Second, opOrderStatus: 2 * time.Second,
		opDelivery: 2 * time.Second, opStockLevel: 2 * time.Second}
	thinkingTimes = [kinds]time.Duration{opNewOrder: 12 * time.Second, opPayment: 12 * time.Second, opOrderStatus: 10 * time.Second,
		opDelivery: 5 * time.Second, opStockLevel: 5 * time.Second}
)

// longestThought is where thinking is cut, in means.
const longestThought = 10

// Think implements load.Thinker. The engine deals operation n to worker n mod
// threads: with as many threads as terminals, worker and terminal are one.
func (k keyed) Think(n int64) (keying, thinking time.Duration) {
	kind := kindOf(k.c.Run, n)
	s := draw.Keyed(k.c.Run, fromThink, n)
	means := min(-math.Log(1-s.Float()), longestThought)
	return keyingTimes[kind], time.Duration(means * float64(thinkingTimes[kind]))
}
