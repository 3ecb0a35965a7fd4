// Package postgres looks at PostgreSQL servers, 10 and later: it finds them
// among the host's processes, reads their files, logs in with a read-only
// session and turns settings and statistics into facts.
//
// A setter turns a wanted value into ALTER SYSTEM and a reload, or into an
// edit of the file that is read last.
//
// Reading (probe), parsing (config, arguments, values) and the driver
// (dialer) are apart; parsers take bytes or text and never fail hard.
package postgres
