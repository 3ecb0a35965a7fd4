// Package rollback brings a server back to a point, and destroys nothing.
//
// [Rollback.Plan] only reads, and refuses before anything is stopped. Its [Plan] is one step of
// acts for the journal of package change: stop the server; take a safety snapshot; clone the
// point's snapshots aside, with the properties that are set on the server's datasets; promote
// the clones, so that the older snapshots go with them; unmount; give the datasets the name
// NAME.before-TAG and the clones theirs; mount; start. [Rollback.Run] carries it out. A step of
// it that fails is taken back at once, "plumb undo N" takes all of it back, and
// [change.Executor.Resume] goes on with one that was killed: what the server wrote since is
// then NAME.undone-TAG. [Rollback.Follow] must be called after each of these: it corrects
// what is written down of the points whose snapshots now lie under another name.
//
// On btrfs a subvolume is renamed, and a writable snapshot of the point gets its name: nothing is promoted,
// and no properties are copied.
//
// A server whose log has timelines never starts on the point itself, as it would go on on the old one: a copy that
// recovered on a new one takes its place, as it does with a log that was replayed.
//
// No server starts on an empty directory, whenever the machine is restarted: the dataset of
// before stays set to be mounted where it was until the new one is mounted there, so that a start
// of the machine finds the one or the other, and both are whole. Whatever was mounted or
// started in between is found: that is looked at again before the server is started. (A directory
// that nothing is mounted on is not made immutable: the filesystems that lie above
// datasets, ZFS itself among them, mostly cannot.)
package rollback
