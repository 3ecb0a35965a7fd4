package host

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"sync"
	"time"
)

// LiveOptions set what the live reader may use and how far it may go. Fields
// left zero get the default.
type LiveOptions struct {
	Dialers map[string]Dialer // by Target.Engine
	DSN     string            // data source name of the command line: what secret(SecretDSN) gives
	Plumb   string            // version of Plumb, for About
	Note    string            // free text for About
	Given   Given             // the server that DSN names, for About

	// Again is how long to wait before a login that failed or a path that hung is tried again; 45 s. It must be longer than a check, so
	// that all probes of one see the same machine, and shorter than a minute.
	Again time.Duration
	Now   func() time.Time // the clock for Again; time.Now

	FileTime    time.Duration // for one file, stat or glob; 5 s
	CommandTime time.Duration // for one command; 10 s
	DialTime    time.Duration // for one login; 5 s
	Query       QueryLimits   // for one query; 10,000 rows, 8 MiB, 2 s
	FileBytes   int           // of one file; 8 MiB
	OutputBytes int           // of one command's standard output; 16 MiB
	GlobPaths   int           // of one glob; 100,000
	Sessions    int           // open databases; 64
}

func (o LiveOptions) withDefaults() LiveOptions {
	if o.Now == nil {
		o.Now = time.Now
	}
	setDefault(&o.Again, 45*time.Second)
	setDefault(&o.FileTime, 5*time.Second)
	setDefault(&o.CommandTime, 10*time.Second)
	setDefault(&o.DialTime, 5*time.Second)
	setDefault(&o.Query.Rows, 10_000)
	setDefault(&o.Query.Bytes, 8<<20)
	setDefault(&o.Query.Time, 2*time.Second)
	setDefault(&o.FileBytes, 8<<20)
	setDefault(&o.OutputBytes, 16<<20)
	setDefault(&o.GlobPaths, 100_000)
	setDefault(&o.Sessions, 64)
	return o
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// SecretDSN is the name a dialer passes to its secret function to get the
// data source name given on the command line, for a login with DSN set.
const SecretDSN = "dsn:"

// Live reads the machine it runs on. It is safe for concurrent use. Nothing
// it does hangs: a thread that waits for a dead disk or a suspended pool cannot be
// interrupted, and so it does not wait for an operation beyond its deadline. It
// remembers what failed or hung, and tries it again after a while.
type Live struct {
	options  LiveOptions
	about    About
	commands []commandPattern
	stuck    stuckCount
	hung     hungThings

	mu       sync.Mutex
	sessions map[string]*openSession
	closed   bool
}

var _ Reader = (*Live)(nil)

// NewLive makes the reader of this machine. Close it when done.
func NewLive(o LiveOptions) *Live {
	about := About{Root: os.Geteuid() == 0, User: strconv.Itoa(os.Geteuid()), Plumb: o.Plumb, Note: o.Note, Given: o.Given}
	if u, err := user.Current(); err == nil {
		about.User = u.Username
	}
	return &Live{options: o.withDefaults(), about: about, commands: readingCommands(), sessions: map[string]*openSession{}}
}

// About implements Reader. Taken is the present time, as a reader can live for months. A Cached remembers it for one look at the machine.
func (l *Live) About() About {
	a := l.about
	a.Taken = time.Now().UTC().Truncate(time.Millisecond)
	return a
}

// Close ends the database sessions. It does not wait for one that hangs.
func (l *Live) Close() error {
	l.mu.Lock()
	sessions := l.sessions
	l.sessions, l.closed = map[string]*openSession{}, true
	l.mu.Unlock()

	ctx, cancel := context.WithTimeout(context.Background(), l.options.DialTime)
	defer cancel()
	var first error
	for name, s := range sessions {
		if err := s.close(ctx); err != nil && first == nil {
			first = fmt.Errorf("close the session to %s: %w", name, err)
		}
	}
	return first
}
