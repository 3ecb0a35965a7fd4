// Package zfs knows the zpool and zfs commands: what to type, and how to read
// what they print. It runs nothing. The probe, the setter, the volumes of a
// lab and the inventory run the same commands through their own doors.
//
// Two implementations are known: OpenZFS, and zfs-fuse, which stopped at pool
// version 23 and has few options on its commands ([Tools]).
//
// Parsers take bytes, are bounded, and pass over what they do not understand.
// Those that a removal relies on ([ParseMarks], [Status.Devices]) do not: there,
// what is not understood is an error.
package zfs
