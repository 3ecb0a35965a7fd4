// Package backup takes streams to a store so that they come back: what `zfs send` or `btrfs send`
// gives of the snapshots of a point, or what any command gives. It starts the producer itself, so it knows
// how that ended; it survives being killed, because what was sent is written down here; and a backup exists
// only when its manifest does, which is written last, under a condition, signed, and read back.
//
// The machine that is backed up needs no key that opens its backups, and has none.
package backup

import (
	"cmp"
	"path/filepath"
	"time"

	"filippo.io/age"
	"golang.org/x/mod/sumdb/note"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/backup/stream"
	"plumb/internal/btrfs"
	"plumb/internal/host"
)

// quiet is how long nothing may move in or out of a command: longer than a store may be away.
var quiet = store.DefaultPatience.For + 10*time.Minute

// Directory is where the host's key is, and what was sent by runs that have not ended.
const Directory = "/var/lib/plumb/backups"

// At is that directory as a command line names it: "" for Directory.
func At(state string) (string, error) { return filepath.Abs(cmp.Or(state, Directory)) }

// Backup is what backups are made with.
type Backup struct {
	Do      host.Streamer
	Store   store.Store
	Also    []store.Store // that get the same: one that fails spoils none of the others
	Dir     string        // Directory, but for tests
	Host    string        // name of this machine
	Plumb   string        // version
	Sign    note.Signer
	Public  string // the key of Sign, for others
	To      []age.Recipient
	Words   []string // the recipients as they were given: a run that goes on must have the same
	Chunk   int      // bytes of the stream in one object; 0: the most
	Workers int      // 0: six
	Pace    *stream.Pace
	Lock    time.Duration // how long no object may be removed, where the store can
	Beat    time.Duration // how often it says that it lives; 0: DefaultBeat
	Now     func() time.Time
	Doing   func(Progress)
	Warn    func(what string, err error) // told of what the run goes on without; nil for nobody
}

// Job is what is backed up.
type Job struct {
	Name    string // by which a run that was killed is found again: of the point, or of the command
	Server  string
	Point   string
	Facts   map[string]string
	Sources []Source
	Whole   string // why all of it is sent, where there are backups of the same server; "" where only what changed is
}

// Source is one stream, and what produces it.
type Source struct {
	manifest.Stream          // Name, Kind, GUID, Base, Raw; the rest is filled in
	Argv            []string // what produces it
	Estimate        []string // what says about how much it will give; nil where nobody knows
	Text            []byte   // the stream itself, where nothing is run for it
	Snapshot        string   // of OpenZFS, that is sent: it is bookmarked once the backup is made
	Unsent          []string // what the stream lacks of a dataset, as zfs set takes it
	Watch           []Watcher
	Sieve           *btrfs.Sieve // through which the stream goes, where it is one of btrfs
}

// Result is what came of it.
type Result struct {
	manifest.Manifest
	Sent    int64 // bytes of objects
	Skipped int64 // bytes of streams that an earlier run had sent
	Objects int64
	GoesOn  bool // it is the end of a backup that an earlier run began
	Took    time.Duration
	Lost    []Lost // stores that do not have it
	Whole   string // why all was sent, as Job says
	Twin    error  // an ErrTwin, when another machine with the same key was noticed
}

// Lost is a store that does not have the backup that others have.
type Lost struct {
	URL string
	Err error
}
