// Package client puts PostgreSQL 10 and later under load.
//
// The driver connects and logs in, so every way to log in works. Then its
// connection is taken over by wire code of our own, because a driver's way of
// calling costs more than the server's answer: a statement is parsed and
// described once, and each call of it is one message sent (Bind, Execute,
// Sync in one write) and one answer read, in place, into a buffer that is
// used again. Filling tables and asking about the server is left to the
// driver.
//
// # What costs time
//
// With net.Conn a statement cost 14 µs of the client's processor time with one
// connection, on a virtual machine with two processors. Sending and then
// waiting without a first read in vain, without telling the runtime, and
// hearing of reading only (reach.Asker, reach.Quiet) brought it to 8 µs, about
// what pgbench takes. Reading with a blocking socket and a thread for each
// connection cost 12 µs or more. research/benchload measures against pgbench.
//
// Against [Fake], client and server in one process took 6 to 7 µs for a statement
// together.
package client
