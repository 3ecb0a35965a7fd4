// Package stack is the vocabulary of Plumb: everything that is known of one
// host, from the database down to the device, as plain values.
//
// A [Stack] holds [Thing]s (a server, a filesystem, a dataset, a disk), each
// with [Fact]s and links to other things, and [Gap]s for what could not be
// seen. The package does no I/O and imports nothing of ours: readers fill it,
// rules judge it, views show it, and it can be saved and compared.
//
// One law holds throughout: unknown is not zero. A fact that nobody could read
// is not in the map; a fact that is known not to exist here is [Absent].
package stack
