// Package lab carries experiments out: it makes volumes and private servers,
// loads them, runs the trials in a randomised order that can be resumed,
// and keeps a record of each. What it needs of products and filesystems it is
// given as [VolumeMaker] and [Engine], which cli wires.
package lab

import (
	"context"

	"plumb/internal/host"
	"plumb/internal/inventory"
	"plumb/internal/lab/experiment"
	"plumb/internal/load"
)

// Workspace is where one lab run makes things, and with what.
type Workspace struct {
	Dir  string          // its own directory, made by it: volumes, sockets, logs
	Run  string          // name of the run, unique on this machine: in names of pools and control groups
	Do   host.Launcher   // the machine
	Book *inventory.Book // where everything is written down before it is made
}

// Need is what something takes, known before anything is made.
type Need struct {
	Disk     int64    // bytes of the disk below the lab's directory, or of Place
	Place    string   // where the volume lies, such as a dataset, when that is not below the lab's directory
	Room     int64    // bytes free in Place
	Memory   int64    // bytes
	Root     bool     //
	Programs []string // that must be there: mkfs.xfs
	Why      string   // of the sum, for people: "2 volumes of 4 GB and a copy of the data"
}

// VolumeMaker makes volumes.
type VolumeMaker interface {
	// Check validates a volume and tells what it needs, without making anything.
	Check(ctx context.Context, h host.Reader, v experiment.Volume) (Need, error)
	// Make makes a volume, without its limit. name is unique in the box.
	Make(ctx context.Context, b Workspace, name string, v experiment.Volume) (Volume, error)
}

// Volume is a volume that was made.
type Volume interface {
	// Golden makes the directory the data is put in once; the caller fills it as
	// the user with these ids, to whom it belongs.
	Golden(ctx context.Context, uid, gid int) (dir string, err error)
	// Clone gives a trial a copy of the golden directory, with nothing of it in
	// the page cache, under a path that is the same for all clones of the
	// volume. how is copy, reflink or snapshot. There is one clone at a time.
	Clone(ctx context.Context) (dir, how string, err error)
	// Apart makes a directory of the clone, by its path below it, a filesystem of
	// its own with volume.log_properties; it is empty, and belongs to the user with
	// these ids.
	Apart(ctx context.Context, dir string, uid, gid int) error
	// Drop removes the clone.
	Drop(ctx context.Context) error
	// Limit puts the profile in force, measures whether it holds, and gives what
	// it measured; nil when there is none. From then on burst credits run.
	Limit(ctx context.Context) ([]experiment.LimitFact, error)
	// Again puts the profile in force after Unlimit, without measuring it anew.
	Again(ctx context.Context) error
	// Unlimit takes the limit away: the copying between trials is not held up.
	Unlimit(ctx context.Context) error
	// Facts tells what the volume is, as the kernel and the pool say.
	Facts(ctx context.Context) (experiment.VolumeFacts, error)
	// Counters reads what the device and the filesystem have done so far, by
	// names as in Cost: "device written", "device read", "device requests", "device flushes", in bytes and counts, and "space used"
	// in bytes and "compression ratio" where it is known. Missing means unknown.
	Counters(ctx context.Context) map[string]float64
	// Close takes the volume away.
	Close(ctx context.Context) error
}

// Program is a server program that was found.
type Program struct {
	Product string            // "MariaDB 10.11.14", as it says of itself
	Paths   map[string]string // by the engine's own names: "server", "install"
	Env     []string          // that it needs
	Before  []string          // argv put before it, such as a loader
}

// Logs says how a server has its redo log or WAL apart from its other data.
type Logs struct {
	Dir   string   // below the data directory
	Files []string // patterns, as find(1) takes them, of what goes there from the data directory; none: all that Dir holds is the log
	Args  []string // that tell the server where; none where it looks there by itself
}

// Start is how to start a program that keeps running.
type Start = host.Process

// Engine knows how one product is set up privately. It only decides; the lab
// runs what it says.
type Engine interface {
	// Names are the engines in experiment files it serves.
	Names() []string
	// Find finds the program of a version, fetching it when that is allowed.
	// The error has a hint (package hint) when it cannot be had.
	Find(ctx context.Context, d host.Doer, s experiment.Server, fetch bool) (Program, error)
	// Files gives the configuration of a server with its data in data and its
	// sockets and logs in run, by path.
	// Settings that would lead out of the box are an error.
	Files(p Program, s experiment.Server, data, run string) (map[string][]byte, error)
	// Install gives the command that makes an empty data directory.
	Install(p Program, s experiment.Server, data, run string) Start
	// Serve gives the command that runs the server, the signal that stops it in
	// an orderly way, and the file of its log.
	Serve(p Program, s experiment.Server, data, run string) (start Start, stop host.Signal, log string)
	// Logs says where the redo log or WAL can be put apart.
	Logs(p Program) Logs
	// ReservedLogs are the names, as find(1) takes them, of logs whose space is
	// only reserved when they are made; nil where there are none.
	ReservedLogs() []string
	// Dial gives the load's way into the server. database is made when missing.
	Dial(run string) load.Server
	// Ready tells whether the server answers.
	Ready(ctx context.Context, run string) error
	// Prepare makes the database that loads use.
	Prepare(ctx context.Context, run string) error
	// Effective reads all settings from the running server.
	Effective(ctx context.Context, a load.Admin) (map[string]string, error)
	// Lookup finds a setting among the effective ones, under any of the spellings
	// its configuration file allows.
	Lookup(effective map[string]string, setting string) (value string, known bool)
	// Same tells whether a value that was asked is the one that is in force:
	// "1G" is "1073741824", "on" is "1".
	Same(setting, asked, effective string) bool
	// Set gives the statement that changes a dynamic setting, for ABBA.
	Set(setting, value string) (statement string, after string, err error)
	// Counters reads what the server has done so far: "server written",
	// "server read", "server fsyncs", in bytes and counts. Missing means unknown.
	Counters(ctx context.Context, a load.Admin) (map[string]float64, error)
}
