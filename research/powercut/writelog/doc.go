// Package writelog reads the log that QEMU's blklogwrites filter keeps of
// every write and flush of a disk, and replays it to the image that a power
// cut would have left.
//
// The format is that of Linux' dm-log-writes: a super block in the first
// sector, then for each entry a sector that describes it and, if it wrote
// something, the sectors that it wrote. Numbers are little-endian. Sources:
// Documentation/admin-guide/device-mapper/log-writes.rst and
// drivers/md/dm-log-writes.c of Linux, block/blklogwrites.c of QEMU.
//
// # What a power cut keeps
//
// A disk with a volatile cache promises two things: what was complete when a
// flush began is on the medium when the flush ends, and a write with FUA is on
// the medium when it ends. Of everything else it may keep any part, in any
// order, torn at sector bounds. So a [Cut] has an end, everything up to the
// last flush before it, the FUA writes after that flush, and of the other
// writes after it what a seed draws.
//
// # What QEMU's log can and cannot tell
//
//   - An entry is logged when its write is complete, and its place in the log
//     is taken then. A write that ended while a flush was under way stands
//     before the flush, though the flush did not promise it. The replay keeps
//     it: it is gentler than a disk may be, by the writes of one flush's time.
//   - The super block is written on flushes, and two such writes may overtake
//     each other. Its count is therefore a hint: reading goes on as long as
//     there are entries.
//   - QEMU turns FUA into a write and a flush; no entry of it has the FUA flag.
//   - When QEMU is killed, a log write may be under way. An entry without its
//     data ends the log. One that is there, after the last flush, and whose
//     last sector is zero, may lack its end: it is doubtful and never kept,
//     which is a thing that a power cut may do to it.
//   - An entry that is missing with others after it is a hole. What stands after
//     it cannot be read, a flush perhaps. Cuts before it are as good as any; that
//     a commit was acknowledged after it asks nothing of them.
//   - Before QEMU 9.0 (and 7.2.10, 8.2.2) a "write zeroes" that met other
//     writes spoiled the log: give the guest a disk without it
//     (virtio-blk-pci,discard=off,write-zeroes=off). A spoiled log is refused.
package writelog
