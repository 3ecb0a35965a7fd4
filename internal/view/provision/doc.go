// Package provision writes what laying out a host, its caches and its loads would do, and did.
package provision
