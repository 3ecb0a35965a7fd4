// Package point takes points of PostgreSQL servers, 10 and later, and starts
// copies of them.
//
// Files of one moment are what a power cut leaves, and need no lock. Files of
// several moments need the server's backup protocol, and the volume with the WAL
// last: what was written to the others until the backup's end must be in it.
package point
