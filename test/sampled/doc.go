// Package sampled tests the sources of watch for the machine itself, below real
// servers on devices of their own.
package sampled
