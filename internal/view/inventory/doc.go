// Package inventory writes what Plumb has left on a host, and what became of
// removing it.
package inventory
