// Package client puts PostgreSQL 10 and later under load.
//
// The driver connects and logs in, so every way to log in works. Then its
// connection is taken over by wire code of our own, because a driver's way of
// calling costs more than the server's answer: a statement is parsed and
// described once, and each call of it is one message sent (Bind, Execute,
// Sync in one write) and one answer read, in place, into a buffer that is
// used again. Filling tables and asking about the server is left to the
// driver.
package client
