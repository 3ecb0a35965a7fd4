// Package sampler reads MySQL, MariaDB and Percona servers again and again:
// their counters, what their sessions do or wait for, and what their statements
// cost. On demand it tells the plan of a statement, and which indexes serve no one.
//
// It only reads, and switches no instrument on: what a server does not show is
// a gap that says what would show it, or is not given. Of a statement it keeps
// the digest and the digest's text, never the text that was sent.
package sampler
