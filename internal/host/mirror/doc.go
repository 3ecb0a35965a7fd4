// Package mirror makes one directory like another, there and back. It is long: what was copied is written down in a list, with
// its SHA-256 and how it was on both sides, so that a run which was killed is gone on with, and a second one copies only
// what changed since. What it calls the same has been read back.
package mirror
