// Package sampler reads mongod again and again: its counters, and how many
// operations run or wait for a ticket or lock.
//
// It asks serverStatus alone. Which operations these are, and what they wait
// for, is told by $currentOp, which is an aggregation and not among the commands
// that a reading session may run: so there are counts of sessions and no list.
package sampler
