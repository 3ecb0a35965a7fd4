package load

import "time"

// Options say how a workload is driven.
type Options struct {
	Threads  int           // workers, each with its own session
	Events   int64         // operations to do; 0 for no limit
	Time     time.Duration // how long to measure; 0 for no limit
	Seed     uint64        // the same seed, the same operations
	Pace     Pacer         // nil for a closed loop: each worker goes on as soon as it can
	Warmup   time.Duration // driven, and left out of the result
	Until    SteadyRule    // when set, warm-up lasts until the throughput is steady
	Retries  int           // attempts after a Retry failure before an operation counts as failed
	Grace    time.Duration // how long to wait at the end for operations under way
	OnSecond func(Second)  // called once a second while running, also during warm-up
}

// SteadyRule is the rule of SNIA's Performance Test Specification: over a
// window, all values lie within Range of their mean, and the fitted line
// rises or falls by less than Slope of it.
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
	// String describes it: "500/s, Poisson".
	String() string
}
