// Package series is what a host was seen to do over time, as plain values:
// readings of counters and gauges, sessions and statements, each with the
// moment it was read, and gaps where a value is not there.
//
// The package does no I/O. What a counter or gauge is called, and its unit, is
// in knowledge/facts and knowledge/samples. A value that was late or could not
// be read is in no batch: there is no stale value and no zero in its place.
package series
