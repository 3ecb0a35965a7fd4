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
// Measured with pgbench's select on PostgreSQL 15 by a Unix socket, on a
// virtual machine with two processors that others used too: processor time of
// the client for each statement, the least of five to eight short runs, which
// alternated with runs of pgbench -M prepared -S of the same number of
// connections (and with up to 2 threads).
//
//	                                      1         8        64 connections
//	net.Conn                              14–15 µs  8–13 µs  9–13 µs
//	one write, wait before the first read 13–14 µs  8–10 µs  9–11 µs
//	the same, the runtime not told        9.5 µs    7.3 µs   8.7 µs
//	the same, hearing of reading only     8.0 µs    7.2 µs   8.9 µs
//	pgbench 15                            8.1 µs    8.8 µs   9–15 µs
//
// So that is what host.Asker and host.Quiet do. Statements a second followed:
// level with pgbench, within what a shared machine lets one tell. Reading with
// a blocking socket and a thread for each connection cost 12 µs or more. With
// GOMAXPROCS=1 the client takes up to a fifth less processor time, and can
// use no more than one processor, so it is left as it is.
//
// Against [Fake], client and server in one process took 6 to 7 µs for a statement
// together.
package client
