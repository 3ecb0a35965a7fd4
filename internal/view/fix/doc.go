// Package fix writes what fix would do and did, what undo took back, and the
// history of both.
package fix
