// Package sampler reads, again and again, what storage counts: block devices,
// ZFS and its pools, and the filesystems that servers lie on.
package sampler
