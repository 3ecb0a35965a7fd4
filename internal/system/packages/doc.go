// Package packages has the system's own package manager install what is missing, in acts of
// package change: the list of what comes in is known beforehand, to the version, and
// only that goes again. It asks nothing, and waits for nobody longer than two minutes.
package packages
