// Package sst is the two ends of a state snapshot transfer of Galera: a node that joins gets a copy
// of another's files as they were at one moment, and the position in the cluster's history that
// they have.
//
// The server starts a program wsrep_sst_METHOD on both hosts, as its own user, and talks to it over
// its standard output. The donor's asks for a pause ("flush tables"), is told the position in a file,
// lets the server go on ("continue"), and says "done". The joiner's says where it listens
// ("ready ADDRESS"), and at the end the position. Between the two the connection is ours, see wire.go.
//
// Nothing here has more rights than the server's user. Who takes the point needs more: it is a command
// of its own, to which the donor talks (plumb/internal/protect/lend).
package sst
