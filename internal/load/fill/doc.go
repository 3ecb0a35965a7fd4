// Package fill loads tables whose rows are a pure function of their number:
// in parallel by ranges of rows, as the text that COPY and LOAD DATA read.
//
// Every range goes in with a note in the table plumb_load, in one
// transaction. So a load that was killed is taken up again where it stood: a
// range is wholly in or not at all. The same notes tell whose the tables are,
// and what they hold; tables without a note are not touched.
package fill
