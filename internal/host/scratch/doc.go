// Package scratch is the door through which a load reaches files that it
// makes itself: test files in a directory, read, written and synced by plain
// system calls, and what the kernel tells of the device below them.
//
// It touches nothing that Plumb did not make. A set of test files is listed
// in plumb-load.json (or plumb-fsync.json) beside them, by name and inode; a file of the right name
// that is not listed, a symbolic link, a file with another inode, a file with
// a second name, and anything that is no plain file are refused, never
// overwritten and never removed.
package scratch
