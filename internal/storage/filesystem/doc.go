// Package filesystem reads the mounted filesystems of a host: where, with what
// options and how full, and those features of ext4, XFS and btrfs on which
// torn pages, copy-on-write and the next mount depend.
//
// Filesystems in memory and layers of containers are left to package observe,
// which adds the ones a server uses. The package does not judge.
package filesystem
