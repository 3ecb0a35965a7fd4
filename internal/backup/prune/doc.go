// Package prune removes old backups from a store, and what killed runs left there.
//
// It works in two phases, so that a backup that runs beside it, or was killed and goes on a
// day later, loses nothing that it counts on. First a stone takes the place of the manifest
// ([manifest.Stone]); then, when the stone is older than a grace, what nobody needs goes.
// Whoever builds on a backup says so in a claim before it looks whether the backup is there, and prune looks at all
// claims again after it has set its stones: so one of the two sees the other. A stone is
// taken back by either until the objects begin to go, and every step replaces only what was read.
//
// Archived logs go with the backups: what lies before the first place at which one begins that stays. In place of
// stones there is one object for each log, its beginning ([archive.Beginning]): first it says what goes, and when that is older than
// a grace, and no backup needs it that is there, can come back or is being made, that it is gone; then its objects go.
//
// Nothing goes while a manifest cannot be read or is not believed: it may need anything.
// Objects whose names Plumb does not give are somebody else's, and stay.
package prune
