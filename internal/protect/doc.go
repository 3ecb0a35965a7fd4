// Package protect makes points in time of a server, and proves that they start.
//
// A [Point] is the snapshots of everything one server keeps data on (its [Set]),
// taken as one, with the server's position and identity. What was proven of it is
// its [Label]: nothing counts as a backup until a copy of it was started and read.
//
// The package knows no product and no storage: an [Engine] and a [Storage] are
// passed in. Points are written down before anything is made ([Store]), so that
// what a killed run left is found, finished or taken away.
package protect
