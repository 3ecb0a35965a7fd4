// Package stack draws a host from each server down to its disks.
package stack
