// Package journal is the file in which Plumb writes down what it is about to
// change before it changes it: a sequence of records, one a line, each with
// its number and a checksum. It does no I/O; change appends what Encode gives
// and reads back with Read.
package journal
