// Package sampler reads again and again what devices, pools and filesystems
// count, and what the files of each server take.
//
// What the kernel answers from memory is read each second. Commands of ZFS, and
// whatever lies on a filesystem, can hang for as long as a pool is suspended:
// each is a source of its own, so that it stops no other.
package sampler
