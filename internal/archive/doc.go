// Package archive keeps the log of a server in a store, piece by piece as it is written, so that a backup can
// be brought forward to a moment. It knows no product: a piece is a range of bytes of a file.
//
// What is kept is sealed as backups are: zstd in age, in objects of at most 16 MiB. A piece exists when its
// entry does, a note that this host signed, written last and only if there is none. Nothing that is there
// is ever replaced: a file of the same name with other bytes is refused.
//
// There is no spool: what could not be kept stays where the server has it, and the server is told.
package archive

import (
	"context"
	"time"

	"filippo.io/age"
	"golang.org/x/mod/sumdb/note"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
)

// Entry says what a piece is, and which objects hold it.
type Entry struct {
	Form   int              `json:"form"`
	Host   string           `json:"host"` // that kept it, as it calls itself
	Piece                   // what it is
	Mark   string           `json:"mark"`           // of its bytes, by the key of the host: the same for the same bytes
	Tail   *Tail            `json:"tail,omitempty"` // where the next piece of a file joins on
	Ends   bool             `json:"ends,omitempty"` // nothing more comes in the file
	Why    string           `json:"why,omitempty"`  // of the first of a series: why the one before could not be gone on with
	Kept   time.Time        `json:"kept"`           // when it was read: all in it was written before
	Plumb  string           `json:"plumb"`          // version that kept it
	Chunks []manifest.Chunk `json:"chunks"`
}

// Piece is a range of bytes of a file of a server's log. A series is a stretch of log in which nothing is missing.
type Piece struct {
	Server string `json:"server"`
	Series string `json:"series"`
	File   string `json:"file"`
	From   int64  `json:"from"`
	To     int64  `json:"to"`
}

// Tail is the last record of a piece. Where it is found again, the file is the one that was kept.
type Tail struct {
	At   int64  `json:"at"` // where it begins in the file
	Mark string `json:"mark"`
}

// Keeper keeps pieces.
type Keeper struct {
	Store  store.Store
	Sign   note.Signer
	Public string          // the key of Sign, for others
	Past   []note.Verifier // keys that this host has given up: what they marked cannot be compared
	To     []age.Recipient
	Host   string // name of this machine
	Plumb  string // version
	Now    func() time.Time
	Chunk  int           // bytes of a log in one object; 0: the most
	Lock   time.Duration // how long no object may be removed, where the store can
	// Still is an error when Sign is this host's key no more; nil for one that always is. Of what is signed then nobody believes
	// anything, and the server would remove its file.
	Still func(context.Context) error
}

// Form is the version of entries.
const Form = 1
