// Package driven is backups that another program makes, where one that is kept does it better than Plumb would:
// Plumb configures it, runs it, asks it what there is, judges that, and proves that it can be restored.
//
// A [Tool] knows one program. A [Set] is what one server's backups are made with, as [Sets] write it down on this host.
//
//	plumb backup SERVER --with TOOL --to URL   Setup.Run → Tool.Run → Tool.Look → Judge
//	plumb verify --with TOOL --restore DIR     Proof.Run
//	plumb restore --with TOOL --dir DIR        Restore.Run
package driven

import (
	"context"
	"time"

	"plumb/internal/backup/moment"
	"plumb/internal/host"
	"plumb/internal/protect"
)

// Type is how much a backup holds of itself.
type Type string

// Types of backups.
const (
	Full Type = "full" // all
	Diff Type = "diff" // what changed since the last full one
	Incr Type = "incr" // what changed since the last one
)

// Taken is a backup that a tool took.
type Taken struct {
	Label   string    `json:"label"` // as the tool calls it
	Type    Type      `json:"type"`
	Needs   string    `json:"needs,omitempty"` // the label of the one it builds on
	Began   time.Time `json:"began"`
	Ended   time.Time `json:"ended"`
	Bytes   int64     `json:"bytes"`        // of what was backed up
	Stored  int64     `json:"stored_bytes"` // that this one takes in the store
	Damaged bool      `json:"damaged"`      // the tool found pages of the server damaged as it read them
	From    string    `json:"from,omitempty"`
	To      string    `json:"to,omitempty"` // the files of the log with which it is whole
	FromLSN string    `json:"from_lsn,omitempty"`
	ToLSN   string    `json:"to_lsn,omitempty"`
	Proven  time.Time `json:"proven,omitzero"` // when a server last started on it
	Failed  time.Time `json:"failed,omitzero"` // when none did

	Elsewhere []string `json:"elsewhere,omitempty"` // directories of it that lie outside of the data directory
}

// Found is what a tool has of one set.
type Found struct {
	Version  string   `json:"version"` // of the tool
	Backups  []Taken  `json:"backups"` // oldest first
	Wrong    string   `json:"wrong,omitempty"`
	Running  bool     `json:"running"`  // a backup is being made now
	Plain    bool     `json:"plain"`    // what is in the store is known not to be encrypted
	Provable bool     `json:"provable"` // Plumb can start a server on one
	Newest   string   `json:"newest_log,omitempty"`
	Holes    []string `json:"holes,omitempty"`        // in the log behind the first backup
	Unjudged string   `json:"unjudged_log,omitempty"` // why nobody looked for holes
}

// Last is the newest backup; nil when there is none.
func (f Found) Last() *Taken {
	if len(f.Backups) == 0 {
		return nil
	}
	return &f.Backups[len(f.Backups)-1]
}

// Tool knows one program that makes backups.
type Tool interface {
	// Name is what the command line calls it.
	Name() string
	// Kind is that of the servers it is for.
	Kind() string
	// Have tells which version is installed. An error says how it is installed.
	Have(ctx context.Context, d host.Streamer) (version string, err error)
	// Run makes a backup.
	Run(ctx context.Context, d host.Streamer, s Set, t Type) error
	// Look asks what there is. It changes nothing.
	Look(ctx context.Context, d host.Streamer, s Set) (Found, error)
}

// Told is a Tool that keeps itself where its backups go, for all who use it, and is told once.
type Told interface {
	Tool
	// Tell has it keep backups where the set says, and the log too if that is asked for. One that keeps them elsewhere is refused. did is
	// false when it knew all that.
	Tell(ctx context.Context, d host.Streamer, s Set, l Login, log bool) (did bool, err error)
}

// Whole is a Tool that Plumb also configures, and restores with.
type Whole interface {
	Tool
	// Check says what of a set cannot be: a name, a store that the tool does not know.
	Check(s Set) error
	// Config is the configuration, without anything secret: keys as section/name.
	Config(s Set) []Setting
	// Secrets are the files beside it that only the server's user and root read. The first is the key, which is never
	// made a second time.
	Secrets(s Set, l Login) (key, login string, err error)
	// Opens takes the key out of a file that a person kept: what Secrets gave.
	Opens(text []byte) (key string, err error)
	// Wants tells which settings of the server must be others for its log to be archived, and refuses to take
	// the place of somebody else's archive.
	Wants(ctx context.Context, h host.Reader, t host.Target, s Set) ([]Setting, error)
	// Begin makes the store ready for the set, or sees that it is, and that the log arrives there.
	Begin(ctx context.Context, d host.Streamer, s Set) error
	// Choose gives the backup from which a moment is reached.
	Choose(all []Taken, a moment.Asked) (Taken, error)
	// Detail gives what Look does not tell of a backup: where it was that lay outside of the data directory.
	Detail(ctx context.Context, d host.Streamer, s Set, b Taken) (Taken, error)
	// Unpack restores a backup into an empty directory, as the set's user. No server reads it yet.
	Unpack(ctx context.Context, d host.Streamer, s Set, b Taken, data string) error
	// Copied gives, of what Unpack made, the server of which a copy is started, with all of the log that the archive has
	// behind it. The notes say what of that is missing.
	Copied(ctx context.Context, d host.Streamer, s Set, b Taken, f Found, data string) (p protect.Point, notes []string, err error)
	// Finish makes what Unpack made ready for a start that goes on to the moment.
	Finish(ctx context.Context, d host.Streamer, s Set, b Taken, a moment.At) (next, notes []string, err error)
	// Mark notes in the store what came of a proof.
	Mark(ctx context.Context, d host.Streamer, s Set, b Taken, p protect.Drill) error
}

// Setting is a line of a configuration, or a setting of a server.
type Setting struct{ Name, Value string }

// Login is one of a bucket.
type Login struct{ Key, Secret, Token string }
