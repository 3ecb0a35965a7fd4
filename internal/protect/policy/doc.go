// Package policy says which points in time a host is to have, does what is due, and
// tells what is missing.
//
// [Parse] reads the file that a person wrote. [Due] is pure: from the policy, the
// points, what was done before and the time it gives the acts to do now. [Run] does
// them through [Acts], each failing alone, and writes what came of it into a file
// ([Memory]); [Assess] makes a [Status] of all that, for people and for monitoring.
// [Emit] writes the timer or the line of crontab that calls it.
//
//	plumb protect run     Parse → Run, with Acts that call protect, drill, replicate and prune
//	plumb protect run --backups  the same for backups, which take hours, with a file and a lock of their own
//	plumb protect status  Parse, Remember, List → Assess → Status.Met
package policy
