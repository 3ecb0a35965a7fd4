// Package host is the one door to the machine. Everything Plumb reads goes
// through a [Reader]: files, directory patterns, commands and database
// queries, each with a deadline and a size limit, so that every answer can be
// recorded on a tape and a whole check replayed from it.
//
// A package that is only given a Reader cannot change anything: commands and queries are checked against a list of
// ones that only read. To change a machine takes a [Doer].
package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Reader reads one machine: the live one, or one on a tape.
//
// Errors keep their meaning on a tape: errors.Is works with fs.ErrNotExist,
// fs.ErrPermission, context.DeadlineExceeded and the errors of this package.
// Secrets (passwords, tokens) in what is read are replaced by "***" before
// any caller sees them.
type Reader interface {
	// About says what this reader reads and with which rights.
	About() About
	// ReadFile reads a whole file. It does not ask for the size first, as the files of /proc and /sys have none. Of a file over the
	// limit it returns the beginning and ErrTooLarge.
	ReadFile(ctx context.Context, name string) ([]byte, error)
	// Glob lists the paths that match a filepath.Match pattern, sorted. A * also
	// matches names that begin with a dot.
	Glob(ctx context.Context, pattern string) ([]string, error)
	// Stat follows symbolic links.
	Stat(ctx context.Context, name string) (Stat, error)
	// Readlink returns the target of a symbolic link as it is written.
	Readlink(ctx context.Context, name string) (string, error)
	// Statfs describes the filesystem that holds name.
	Statfs(ctx context.Context, name string) (Statfs, error)
	// Output runs a command that only reads and returns its standard output.
	// A command that is not known to only read is refused with ErrRefused.
	Output(ctx context.Context, argv ...string) ([]byte, error)
	// Query runs one reading statement in a read-only session. Sessions are
	// opened on first use and kept until the reader is closed.
	Query(ctx context.Context, t Target, query string) (Rows, error)
}

// Doer can change the machine. Subcommands of plumb that only read are never given one. What a method does is durable once it returns.
type Doer interface {
	Reader
	// Raw reads a file with its secrets in place, because what is edited must
	// be written back whole. What it returns must not be shown.
	Raw(ctx context.Context, name string) ([]byte, error)
	// Replace writes a file atomically and durably. A file that exists keeps its owner, mode and labels; a symbolic
	// link keeps pointing to the file that is replaced. A missing directory is made.
	Replace(ctx context.Context, name string, data []byte, perm fs.FileMode) error
	// Tidy removes the half-written file that a killed Replace of this file left beside it.
	Tidy(ctx context.Context, name string) error
	// Remove removes a file. It is no error if there is none.
	Remove(ctx context.Context, name string) error
	// MakeDir makes one directory. A uid or gid of -1 is our own. If the name is taken the error is fs.ErrExist.
	MakeDir(ctx context.Context, name string, perm fs.FileMode, uid, gid int) error
	// Rename gives a file or directory another name on the same filesystem. If that name is taken the error is fs.ErrExist.
	Rename(ctx context.Context, from, to string) error
	// Append adds to the end of a file. A missing file and its directory are made, readable by their owner alone.
	Append(ctx context.Context, name string, data []byte) error
	// Write writes to an existing file in place, in one call, as the files of the kernel need it.
	Write(ctx context.Context, name string, data []byte) error
	// Run runs any command.
	Run(ctx context.Context, argv ...string) ([]byte, error)
	// Exec runs one statement that changes a server.
	Exec(ctx context.Context, t Target, statement string) error
	// Writable is an error unless a file could be replaced or written. It changes nothing.
	Writable(ctx context.Context, name string) error
	// Lock locks a file, which it makes if it is missing, until unlock is called or this process ends. If another process has the lock,
	// or a command that was run under it by one that was killed still runs (LeftRunning), the error is ErrLocked.
	Lock(ctx context.Context, name string) (unlock func(), err error)
}

// About describes a reader.
type About struct {
	Taken time.Time `json:"taken"` // when the machine was read
	Root  bool      `json:"root"`  // with root's rights
	User  string    `json:"user"`  // as whom
	Plumb string    `json:"plumb"` // version of the Plumb that read it
	Note  string    `json:"note,omitempty"`
	Given Given     `json:"given,omitzero"` // the server the command line named
}

// Given is a server that was named on the command line. A tape records it, because no process of the machine leads to that server: a
// replay would not know to ask for it. It holds no login.
type Given struct {
	Engine  string `json:"engine"`
	Name    string `json:"name"` // as in Target
	Network string `json:"network"`
	Address string `json:"address"`
}

// Stat is what stat(2) and statx(2) say about a file.
type Stat struct {
	DevMajor  uint32      `json:"dev_major"`          // device that holds the file
	DevMinor  uint32      `json:"dev_minor"`          //
	RdevMajor uint32      `json:"rdev_major"`         // for device nodes: the device it is
	RdevMinor uint32      `json:"rdev_minor"`         //
	MountID   uint64      `json:"mount_id,omitempty"` // first field of mountinfo; 0 before Linux 5.8
	Inode     uint64      `json:"inode"`              //
	Size      int64       `json:"size"`               // bytes
	Blocks    int64       `json:"blocks"`             // of 512 bytes
	BlockSize int64       `json:"block_size"`         // preferred I/O size: the record size on ZFS
	Mode      fs.FileMode `json:"mode"`               //
	UID       uint32      `json:"uid"`                //
	GID       uint32      `json:"gid"`                //
	Modified  time.Time   `json:"modified"`           //
	Born      time.Time   `json:"born,omitzero"`      // when it was made; zero where the filesystem does not tell
	Resolved  string      `json:"resolved,omitempty"` // path after all symbolic links
}

// Same tells whether two files are one.
func (s Stat) Same(other Stat) bool {
	return s.DevMajor == other.DevMajor && s.DevMinor == other.DevMinor && s.Inode == other.Inode
}

// Statfs is what statfs(2) says about a filesystem.
type Statfs struct {
	Type        int64  `json:"type"`         // magic number
	BlockSize   int64  `json:"block_size"`   // bytes
	TotalBytes  uint64 `json:"total_bytes"`  //
	FreeBytes   uint64 `json:"free_bytes"`   // including what is reserved for root
	AvailBytes  uint64 `json:"avail_bytes"`  // for an ordinary user
	TotalInodes uint64 `json:"total_inodes"` // 0 on filesystems that make them as needed
	FreeInodes  uint64 `json:"free_inodes"`  //
}

// InMemory tells whether the filesystem loses its files when the machine is restarted.
func (s Statfs) InMemory() bool { return s.Type == unix.TMPFS_MAGIC || s.Type == unix.RAMFS_MAGIC }

// Target says how to reach a database. It holds no password: the session's
// dialer takes that from the places named in Logins, so a probe never sees
// one and a tape never holds one.
type Target struct {
	Engine  string // "mysql", "postgres", "mongo", "proxysql": which dialer
	Name    string // the key on a tape: "mysql:/run/mysqld/mysqld.sock"
	Network string // "unix" or "tcp"
	Address string // socket path or host:port
	PID     int    // process that was taken for the server; 0 for none
	Logins  []Login
}

// Login is one way to log in, tried in order.
type Login struct {
	User     string // "" for the name in File, or of the operating-system user
	Database string
	File     string // option file or password file that holds the password; "" for none
	Group    string // group of the option file, such as "client"
	PeerUID  int    // connect to the socket as this operating-system user; 0 for ourselves
	DSN      bool   // use the data source name given on the command line
}

// Exists tells whether there is a file or directory with a name. It follows symbolic links.
func Exists(ctx context.Context, h Reader, name string) (bool, error) {
	_, err := h.Stat(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for %s: %w", name, err)
	}
	return true, nil
}

// SystemdRuntime is the directory that exists while systemd runs the services of the machine.
const SystemdRuntime = "/run/systemd/system"

// RunsSystemd tells whether systemd was booted and manages the services of the machine. It asks what
// sd_booted(3) asks; in a container or an unpacked image systemd can be installed and not run.
func RunsSystemd(ctx context.Context, h Reader) (bool, error) {
	return Exists(ctx, h, SystemdRuntime)
}

// Rows is the answer to a query, as text. A nil value is NULL.
type Rows struct {
	Columns []string    `json:"columns"`
	Values  [][]*string `json:"values"`
	Cut     bool        `json:"cut,omitempty"` // more rows than the limit; the rest was not read
}

// Lines joins the cells by tabs and the rows by newlines. null is written for NULL, and returned when there are no rows.
func (r Rows) Lines(null string) string {
	if len(r.Values) == 0 {
		return null
	}
	var lines []string
	for _, row := range r.Values {
		var words []string
		for _, c := range row {
			if c == nil {
				c = &null
			}
			words = append(words, *c)
		}
		lines = append(lines, strings.Join(words, "\t"))
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// One returns the only row of an answer. Any other number of rows is an error. It takes the results of Reader.Query, and returns an
// error of that as it is.
func One(answer Rows, err error) ([]*string, error) {
	if err == nil && len(answer.Values) != 1 {
		err = fmt.Errorf("the server answers with %d rows, but one is expected", len(answer.Values))
	}
	if err != nil {
		return nil, err
	}
	return answer.Values[0], nil
}

// Cell returns the i-th cell of a row. It is NULL if the row has fewer cells, as it can on a tape that somebody edited.
func Cell(row []*string, i int) *string {
	if i >= len(row) {
		return nil
	}
	return row[i]
}

// Text returns the i-th cell of a row; "" for NULL, and if the row has fewer cells.
func Text(row []*string, i int) string {
	if v := Cell(row, i); v != nil {
		return *v
	}
	return ""
}

// Errors of readers and doers in addition to those of io/fs and context.
var (
	ErrTooLarge  = errors.New("larger than the limit; only the beginning was read")
	ErrNoCommand = errors.New("command not found")
	ErrRefused   = errors.New("not a reading command: refused")
	ErrDown      = errors.New("cannot connect")
	ErrLogin     = errors.New("login refused")
	ErrDenied    = errors.New("not allowed for this user")
	ErrNotOnTape = errors.New("not on the tape")
	ErrLocked    = errors.New("another process holds the lock")
	ErrBroken    = errors.New("the held session is broken")
)

// Dialer opens sessions to one engine. The engine packages provide them; only
// this package calls them.
type Dialer interface {
	// Dial logs in with the first login that works. secret reads a file with
	// its secrets in place; secret(SecretDSN) gives the data source name of
	// the command line. ErrDown and ErrLogin say what went wrong.
	Dial(ctx context.Context, t Target, secret func(name string) ([]byte, error)) (Session, error)
	// Reads reports whether a statement only reads.
	Reads(query string) bool
}

// Opener is a dialer that runs statements of its own in each session it opens. Servers count them like those of any client, and so
// statistics must leave them out.
type Opener interface {
	// Opens lists those statements, for all kinds of servers.
	Opens() []string
}

// Changer is a dialer that can also open sessions that change a server.
type Changer interface {
	// DialToChange logs in like Dial. Statements have no time limit of their
	// own beyond the context's.
	DialToChange(ctx context.Context, t Target, secret func(name string) ([]byte, error)) (ChangeSession, error)
}

// ChangeSession is one open session that may change the server.
type ChangeSession interface {
	Exec(ctx context.Context, statement string) error
	Close() error
}

// Session is one open read-only session. Query is never called concurrently.
//
// A session that is lost says ErrDown (or the context's error): the next
// query then gets a new one.
type Session interface {
	Query(ctx context.Context, query string, limits QueryLimits) (Rows, error)
	Close() error
}

// Ender is a session that can tell without asking the server whether the server has ended it. Many servers do so when a session has
// been idle for some time.
type Ender interface{ Ended() bool }

// QueryLimits bound the answer to one query.
type QueryLimits struct {
	Rows  int
	Bytes int           // of all values
	Time  time.Duration // that the statement may run
}
