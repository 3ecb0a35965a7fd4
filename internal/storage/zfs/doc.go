// Package zfs reads ZFS: the running implementation with its parameters and
// caches (zfs:module), the pools and the datasets.
//
// OpenZFS is a kernel module with figures under /proc/spl/kstat; zfs-fuse is a
// daemon that stopped at pool version 23 and has no parameters, few options on
// its commands and its figures under /zfs-kstat. Both are read; what one of
// them does not have is absent, never zero.
//
// The package only reads and parses. Whether a value is good is the business
// of the rules under knowledge/rules/zfs and knowledge/rules/cross.
package zfs
