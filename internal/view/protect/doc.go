// Package protect writes points in time: how one would be taken, what came of
// it, what a drill found, and what becomes of points and clones.
package protect
