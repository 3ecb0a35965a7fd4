// Package move moves a server's data to other filesystems, and back with all that was written since.
//
// [Mover.Move] implements provision.Mover: it only reads, refuses before anything is stopped, and gives the acts,
// which are one change of the journal:
//
//	copy     all files, while the server runs, with their SHA-256, size and times written down
//	stop     after a checkpoint where the server has one
//	at rest  what changed since is copied, all is compared, the old directory becomes NAME.before-TAG
//	place    the new filesystems are mounted where the old directories were
//	open     the server may enter them
//	start    and a proof: it answers, and not from behind
//
// An undo goes the same way back. It stops the server, copies what was written since to the old directory while
// the new one is in its place and whole, swaps, and starts it there. [change.UndoOptions.Discard] leaves the copying
// out, and so loses what was written.
//
// When it is cut short the server's directory is the old one, whole, or the new one, whole, or for the
// moment between two renames and a mount not there at all, so that no server starts. It is never half of one, and
// never an empty one that a server's user could write to. The way into a directory in which that user may
// rename things, as those above PostgreSQL's are in Debian, is his: where ZFS then mounts, it mounts by its name.
package move
