// Package moment brings a base that was backed up to a moment later: it is restored to a new directory, and what the
// server wrote to its log since is taken from the archive, up to the moment. What the way there needs is looked
// for before anything is written, and a hole in it is refused.
package moment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"plumb/internal/archive"
	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/inventory"
	"plumb/internal/inventory/kinds"
	"plumb/internal/protect"
	"plumb/internal/protect/replay"
	"plumb/internal/units"
)

// Engine knows one product's bases.
type Engine interface {
	// Knows tells whether a backup is a base that this product can bring forward.
	Knows(m manifest.Manifest) bool
	// Alone tells whether a server starts on a base without any of the log, where that is known.
	Alone(m manifest.Manifest) (is, known bool)
	// Plan finds what is replayed. It reads the archive alone, and refuses a way with a hole.
	Plan(ctx context.Context, s archive.Shelf, m manifest.Manifest, a Asked) (Way, error)
	// Ready finds what this machine lacks to bring a base back, before the log is read and anything is written.
	Ready(ctx context.Context, d host.Launcher, m manifest.Manifest, a At) error
	// Unpack is the command that unpacks a base, from its standard input into a directory.
	Unpack(dir string) []string
	// Finish gives an unpacked base what it replays.
	Finish(ctx context.Context, d host.Launcher, s archive.Shelf, w *Way, a At) error
	// Copied gives, of a base that Finish made ready for a proof, the server of which a copy is started: at Data alone, as
	// the user of At, with where it stands at least and the files that a copy needs besides.
	Copied(ctx context.Context, d host.Launcher, w Way, a At) (protect.Point, error)
}

// Sieve is an Engine whose program to unpack writes whatever it is told, wherever that is.
type Sieve interface {
	// Sieve passes a base on, and fails before what leads out of where it is unpacked to.
	Sieve(in io.Reader, out io.Writer) error
}

// PointEngine is an Engine that also brings forward the points of its servers, which are restored to datasets.
type PointEngine interface {
	Engine
	// Based gives the backup of a point as Plan takes that of a base, with where its log stood, as the point itself tells it. It refuses a
	// point onto which nothing can be replayed.
	Based(m manifest.Manifest, told protect.Point) (manifest.Manifest, error)
	// Onto gives a point that was restored what it replays. Its directories lie below At.Root, and are those of told.
	Onto(ctx context.Context, d host.Launcher, s archive.Shelf, w *Way, told protect.Point, a At) error
}

// Asked is what a person asked for.
type Asked struct {
	To       replay.Target // its Point() is the end of the archive
	Log      string        // which of the archive, where that has several and the base does not say
	Timeline int           // of those who have any; 0: the newest that the archive knows of
	Replace  bool          // the server that was backed up is gone: the copy takes its place
	Alone    bool          // nothing is replayed onto the base, and the archive is not read

	// Proof is for a base that is to be started once and thrown away. What cannot be replayed onto it is noted,
	// and no error: whether the base starts without it is what is to be found out.
	Proof bool
}

// The words for all that is archived, and for nothing of it: the base as it was when it ended.
const (
	Latest = "latest"
	Base   = "base"
)

// Read reads the moment that a person named.
func (a *Asked) Read(to string, now time.Time) (err error) {
	if to == Latest {
		a.To = replay.Target{Text: "the end of the archive"}
		return nil
	}
	if a.Alone = to == Base; a.Alone {
		a.To = replay.Target{Text: "the moment it ended"}
		return nil
	}
	if a.To, err = replay.Parse(to); err == nil && a.To.Time.After(now) {
		err = hint.Usage(fmt.Sprintf("%s is in the future: it is %s by the clock of this machine", to, units.Moment(now)), "--to latest replays all that is archived")
	}
	return err
}

// Place is where a base is restored to.
type Place struct {
	Dir      string // which is not there yet; of a point the dataset below which it is restored
	UID, GID int    // to whom all in it belongs
}

// At says where a base is brought forward, and as whom.
type At struct {
	Data     string // the directory in which it was unpacked
	Root     string // below which the directories of a point lie where its server had them; "" for a base
	Dir      string // where that will be in the end
	Aside    string // a directory for what is not to stay, of root; "" for Ready of a point
	UID, GID int
	As       []string // comes before a command that is run as that user; nothing when we are he
	// Start starts a program that is ended with what it made when we are killed. What it gives ends it, if it still runs.
	Start func(context.Context, host.Process) (p host.Running, end func(context.Context) error, err error)
	Asked
}

// Way is what is replayed.
type Way struct {
	Base   string               `json:"base"`   // the backup
	Server string               `json:"server"` // in the archive
	From   string               `json:"from"`   // place in the log
	Last   string               `json:"last"`   // the last record that is replayed
	Count  int                  `json:"transactions"`
	Before []replay.Transaction `json:"before"` // the last that are replayed
	After  []replay.Transaction `json:"after"`  // the first that are not
	Bytes  int64                `json:"bytes"`  // of the log
	Room   int64                `json:"-"`      // bytes that it takes while it is replayed
	Files  int                  `json:"files"`
	Next   []string             `json:"next"` // what is left to do for a person
	Notes  []string             `json:"notes,omitempty"`

	Inner any `json:"-"` // of the engine alone
}

// OfPoint tells whether a base is the snapshots of a point, or else what a tool for base backups gave.
type OfPoint bool

// String is what people call it.
func (is OfPoint) String() string {
	if is {
		return "point"
	}
	return "base backup"
}

// Restore is a base that is brought forward.
type Restore struct {
	backup.Restore
	Do      host.Launcher
	Engines []Engine
}

// Shelf is the archive in the same store, believed and opened as the backups are.
func (r Restore) Shelf() archive.Shelf {
	return archive.Shelf{Store: r.Store, Trust: r.Trust, Retired: r.Retired, Keys: r.Keys, Workers: r.Workers, Pace: r.Pace}
}

// Plan finds what is replayed onto a backup, and changes nothing.
func (r Restore) Plan(ctx context.Context, m manifest.Manifest, a Asked) (Way, Engine, error) {
	e, err := r.engine(m)
	if err != nil {
		return Way{}, nil, err
	}
	w, err := r.plan(ctx, e, m, a)
	w.Base = m.ID
	if err != nil {
		err = fmt.Errorf("bring backup %s to %s: %w", m.ID, a.To.Text, err)
	}
	return w, e, err
}

// engine is of the product whose base a backup is.
func (r Restore) engine(m manifest.Manifest) (Engine, error) {
	for _, e := range r.Engines {
		if e.Knows(m) {
			return e, nil
		}
	}
	return nil, hint.With(fmt.Errorf("backup %s does not say where in a log it begins", m.ID),
		"a base is what pg_basebackup -D - -Ft -X none or mariadb-backup --backup --stream=mbstream gives to plumb backup --command, uncompressed")
}

// ready refuses, before the log is read, a directory that is there, one without room for the base, and a machine that lacks what is
// needed. It gives the path of the directory without links.
func (r Restore) ready(ctx context.Context, m manifest.Manifest, to Place, a Asked) (string, error) {
	e, err := r.engine(m)
	if err != nil {
		return "", err
	}
	real, err := backup.NewDirectory(ctx, r.Do, to.Dir)
	if err == nil {
		err = e.Ready(ctx, r.Do, m, r.at(real, to, a))
	}
	if err == nil {
		r.Tidy(ctx)
		err = r.fits(ctx, real, m, 0)
	}
	if err != nil {
		err = fmt.Errorf("restore backup %s to %s: %w", m.ID, to.Dir, err)
	}
	return real, err
}

// fits refuses a directory that has no room for a base, with a tenth of it for what a server writes when it starts, and for its log.
func (r Restore) fits(ctx context.Context, real string, m manifest.Manifest, log int64) error {
	base := m.Bytes()
	return backup.Fits(ctx, r.Do, path.Dir(real), base+base/10+log)
}

// at is where a base is brought forward that gets the name of a directory in the end. That is its path without links.
func (r Restore) at(real string, to Place, a Asked) At {
	at := At{Aside: real + ".plumb-restore", Dir: real, UID: to.UID, GID: to.GID, Asked: a}
	at.Data = path.Join(at.Aside, "data")
	at.As = protect.Server{UID: to.UID, GID: to.GID}.As(r.Do.About().Root)
	return at
}

func (r Restore) plan(ctx context.Context, e Engine, m manifest.Manifest, a Asked) (Way, error) {
	alone, known := e.Alone(m)
	if a.Alone && known && !alone {
		return Way{}, hint.With(errors.New("it has no log, and no server starts on it without that"), "--to latest replays all that is archived")
	}
	w, err := e.Plan(ctx, r.Shelf(), m, a)
	if early, is := errors.AsType[*earlyError](err); is {
		return w, r.earliest(ctx, e, m, a, early)
	}
	if _, is := errors.AsType[*unreachedError](err); is && (alone || !known) {
		err = hint.With(err, "--to "+Base+" restores it as it was when it ended, without any log; a later backup may reach more (plumb archive list)")
	}
	if a.Alone && !known && err == nil {
		w.Notes = append(w.Notes, "whether the backup has the log without which no server starts on it is not known")
	}
	return w, err
}

// Run restores a backup to a directory that is not there yet, and brings it to the moment.
func (r Restore) Run(ctx context.Context, m manifest.Manifest, to Place, a Asked) (Way, error) {
	return r.bring(ctx, m, to, a, func(e Engine, w *Way, at At) error {
		return e.Finish(ctx, r.Do, r.Shelf(), w, at)
	})
}

// Copied restores a backup to a directory that is not there yet, with all that the archive has behind it, and gives what a
// copy of its server is started from.
func (r Restore) Copied(ctx context.Context, m manifest.Manifest, to Place) (p protect.Point, w Way, err error) {
	a := Asked{To: replay.Target{Text: "the end of the archive"}, Proof: true}
	w, err = r.bring(ctx, m, to, a, func(e Engine, w *Way, at At) error {
		err := e.Finish(ctx, r.Do, r.Shelf(), w, at)
		if err == nil {
			p, err = e.Copied(ctx, r.Do, *w, at)
		}
		return err
	})
	return p, w, err
}

// bring plans the way of a backup, and has what is unpacked finished.
func (r Restore) bring(ctx context.Context, m manifest.Manifest, to Place, a Asked, finish func(Engine, *Way, At) error) (w Way, err error) {
	real, err := r.ready(ctx, m, to, a)
	if err != nil {
		return w, err
	}
	w, e, err := r.Plan(ctx, m, a)
	if err != nil {
		return w, err
	}
	if err := r.fits(ctx, real, m, w.Room); err != nil {
		return w, fmt.Errorf("restore backup %s to %s: %w", m.ID, to.Dir, err)
	}
	return w, r.make(ctx, m, to, a, e, func(at At) error { return finish(e, &w, at) })
}

// make unpacks a backup beside a directory, has it finished, and gives it its name.
func (r Restore) make(ctx context.Context, m manifest.Manifest, to Place, a Asked, e Engine, finish func(At) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("restore backup %s to %s: %w", m.ID, to.Dir, err)
		}
	}()
	real, book, err := r.Begin(ctx, m, to.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, book.Close(context.WithoutCancel(ctx))) }() // which takes away what is not whole
	at := r.at(real, to, a)
	at.Start = r.starts(book)
	if err := book.Tree(ctx, inventory.Thing{Name: at.Aside}, 0o711); err != nil {
		return err
	}
	if err := at.Room(ctx, r.Do, at.Data); err != nil {
		return err
	}
	err = r.unpack(ctx, m, e, at)
	if err == nil {
		err = finish(at)
	}
	if err != nil {
		return r.full(ctx, path.Dir(real), err)
	}
	return r.Do.Rename(ctx, at.Data, real)
}

// full adds to what went wrong that the disk is full, if it is: programs say that in many ways, and tar only of whole blocks.
func (r Restore) full(ctx context.Context, dir string, err error) error {
	room, unknown := r.Do.Statfs(context.WithoutCancel(ctx), dir)
	if unknown != nil || room.AvailBytes > 1<<20 {
		return err
	}
	return hint.With(fmt.Errorf("%w; no space is left in %s", err, dir), "make room there, and restore again")
}

// unpack unpacks a base, in which nothing leads elsewhere.
func (r Restore) unpack(ctx context.Context, m manifest.Manifest, e Engine, at At) error {
	argv := append(at.As[:len(at.As):len(at.As)], e.Unpack(at.Data)...)
	var sieve func(in io.Reader, out io.Writer) error
	if s, is := e.(Sieve); is {
		sieve = s.Sieve
	}
	err := r.Feed(ctx, m, 0, argv, sieve)
	if err == nil {
		err = at.plain(ctx, r.Do)
	}
	return err
}

// plain refuses a base that has anything but files and directories. What is written to one standard output has nothing else: a
// tablespace, which is a link, would be a stream of its own. A link that somebody put into it could lead to a server that runs here.
func (a At) plain(ctx context.Context, d host.Streamer) error {
	var found bytes.Buffer
	if err := a.Sh(ctx, d, nil, &found, `find -P "$1" -xdev ! -type f ! -type d -print -quit`, a.Data); err != nil {
		return fmt.Errorf("look for links in what was unpacked: %w", err)
	}
	if name, _, is := strings.Cut(found.String(), "\n"); is {
		return hint.With(fmt.Errorf("the base has a link, or something else that is not a file: %.200q", strings.TrimPrefix(name, a.Data+"/")),
			"restore it by hand, as a user that no server runs as: --command 'tar -x -C DIR', and look where it leads")
	}
	return nil
}

// Room makes a directory of the user's alone.
func (a At) Room(ctx context.Context, d host.Doer, dir string) error {
	uid, gid := a.UID, a.GID
	if len(a.As) == 0 {
		uid, gid = -1, -1
	}
	return d.MakeDir(ctx, dir, 0o700, uid, gid)
}

// starts gives what starts a program that is in the inventory before it runs.
func (r Restore) starts(book *inventory.Book) func(context.Context, host.Process) (host.Running, func(context.Context) error, error) {
	return func(ctx context.Context, p host.Process) (host.Running, func(context.Context) error, error) {
		return r.start(ctx, book, p)
	}
}

func (r Restore) start(ctx context.Context, book *inventory.Book, p host.Process) (running host.Running, end func(context.Context) error, err error) {
	t, err := book.Make(ctx, inventory.Thing{Kind: inventory.Process, Proof: map[string]string{"argv": strings.Join(p.Argv, " ")}}, func(t *inventory.Thing) (err error) {
		if running, err = r.Do.Start(ctx, p); err != nil {
			return err
		}
		return kinds.Proven(ctx, r.Do, t, running.PID())
	})
	return running, func(ctx context.Context) error { return book.Remove(ctx, t) }, err
}
