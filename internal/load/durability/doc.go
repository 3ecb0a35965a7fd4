// Package durability proves what a server promised. While a load runs, every
// acknowledged transaction is noted in a ledger outside the server; each
// transaction also inserts its number into a table. After a crash, Verify
// compares the two: a number in the ledger and not in the table is a commit
// that was acknowledged and then lost.
//
// What is in the table and not in the ledger is allowed: those commits were
// under way when the server or the load died.
//
// Records reach the disk of the ledger within some ten milliseconds. When the
// machine of the ledger dies too, what was not yet there is not compared, so
// the test gets weaker; it never raises a false alarm. For the same reason
// the ledger belongs on another machine, or at least on another device, than
// the server's data.
package durability
