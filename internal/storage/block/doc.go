// Package block reads the block devices of a host from sysfs: what they are
// (disk, partition, LVM, md, loop, zvol and so on), what they lie on, their
// queue settings, and the health of NVMe drives.
//
// It does not judge, and it does not follow a chain through filesystems and
// pools: package observe joins those.
package block
