// Package sampler runs the sources of a live host and hands what they give to
// sinks, in the order of time.
//
// Each source has a goroutine and a deadline: an answer that is late is a gap
// and never a stale value, and a source that hangs holds up no other. A sink
// that is slow holds up nobody either: it has a queue, and what does not fit is
// a gap in what it gets.
package sampler
