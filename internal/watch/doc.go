// Package watch says what limits each server of a host, now or in a recorded
// minute: which limit, how much of the server's time it costs, what it comes
// from, and what speaks against that reading.
//
// It is fed pictures of the host and batches of samples, live or from a
// recording, and the same feed gives the same answers. It knows no product and
// does no I/O.
package watch
