// Package record keeps what watch saw, and gives it back: a [Writer] takes
// pictures and batches as any sink of watch does, a [Reader] gives those of any
// span of time in the order in which they came, so that who judges them again
// says the same again.
//
// A recording is a directory with one database of SQLite in it. Values lie in
// one blob for each minute and tier: columns, of which only what could not be
// foretold takes much room. The 1 s tier is what was written, exactly; the 10 s and the 60 s tier
// are made of it, with the mean of a gauge between its least and most, and the
// last value of a counter. Each blob has its checksum: one that is damaged is a
// gap, and all others can still be read.
//
// No statement's literals are stored, because batches hold none.
package record
