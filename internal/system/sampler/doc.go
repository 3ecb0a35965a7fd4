// Package sampler reads again and again what the kernel counts: of the host as
// a whole, of the control groups and processes of servers, and of the other
// processes that read and write most.
//
// All of it are files of /proc and /sys that the kernel answers from memory; no
// command runs and no disk is asked.
package sampler
