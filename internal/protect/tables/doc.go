// Package tables brings one table of a point back beside a server that runs, so that nothing
// that others wrote since is lost.
//
// [Bringer.Run] starts a copy of the point without a network, and copies the table from it
// into the database under a name that nothing else has, of random letters and written down
// before. When what arrived is what the copy has, row by row, the table is given its name: that is
// one statement, a change of the journal, and all that "plumb undo" takes back. A run that was
// killed leaves a table of that random name at most, which the next one removes.
package tables
