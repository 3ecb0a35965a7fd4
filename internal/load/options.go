package load

import "time"

// Options say how a workload is driven.
type Options struct {
	Threads   int           // workers, each with its own session
	Events    int64         // operations to do; 0 for no limit
	Time      time.Duration // how long to measure; 0 for no limit
	Seed      uint64        // the same seed, the same operations
	Pace      Pacer         // nil for a closed loop: each worker goes on as soon as it can
	Warmup    time.Duration // driven, and left out of the result
	Until     SteadyRule    // when set, warm-up lasts until the throughput is steady
	Retries   int           // attempts after a Retry failure before an operation counts as failed
	Reconnect time.Duration // how long to try for a new session after one was lost; 0: once
	Grace     time.Duration // how long to wait at the end for operations under way; 0: 10 s
	OnSecond  func(Second)  // called once a second while running, also during warm-up
}

// SteadyRule is the rule of SNIA's Performance Test Specification: a window is
// five rounds; their means lie within Range of one another, as a part of the
// mean of all, and the line fitted to them rises or falls by less than Slope.
type SteadyRule struct {
	Window time.Duration // 0: do not wait for steadiness
	Range  float64       // 0.20
	Slope  float64       // 0.10
	Limit  time.Duration // give up waiting, and say so
}

// Pacer tells when operations are due: an open loop, which does not wait for
// a slow server. Next is called in order by one goroutine.
type Pacer interface {
	// Next gives when the next operation is due, after the start.
	Next() time.Duration
	// Again gives a pacer of the same times that begins anew.
	Again() Pacer
	// String describes it: "500/s, Poisson".
	String() string
}

// Thinker is a workload of people at terminals: each worker is one terminal,
// which keys something in before an operation and thinks after it. Worker i of
// T does the operations i, i+T, i+2T, …. Neither time counts as response.
type Thinker interface {
	Workload
	Think(n int64) (keying, thinking time.Duration)
}
