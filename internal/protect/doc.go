// Package protect makes points in time of a server, and proves that they start.
//
// A [Point] is the snapshots of everything one server keeps data on (its [Set]),
// taken as one, with the server's position and identity. What was proven of it is
// its [Label]: nothing counts as a backup until a copy of it was started and read.
//
// The package knows no product and no storage: an [Engine] and a [Storage] are
// passed in. A point is written down ([Store]) before its snapshots are made, so
// that a later run finds what a killed run left behind, and finishes or destroys it.
package protect
