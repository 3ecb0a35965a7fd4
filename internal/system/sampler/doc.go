// Package sampler reads, again and again, what the kernel counts: processors,
// memory, pressure, and the processes and control groups of servers.
package sampler
