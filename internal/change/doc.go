// Package change changes a host so that it can always be taken back.
//
// A [Setter] of an adapter turns one wanted value into [Act]s, and only reads
// while it does; package draft collects those of a whole plan before the first
// one is done. This package writes each one's intent to the journal before its
// effect, reads the state back afterwards, and undoes from the journal alone: an
// act holds all that is needed, so a newer Plumb, after a reboot, needs no setter
// to undo it.
package change
