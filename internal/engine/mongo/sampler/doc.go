// Package sampler reads mongod again and again: its counters, how many operations
// run or wait for a ticket or lock, and which these are.
//
// It asks serverStatus, and $currentOp without the commands of clients, which
// hold literals. No mongod could be had to try the latter: its fields are those
// of the manuals of 4.4 to 8.0.
package sampler
