// Package spec reads what a host shall be laid out as: which disks make the pool or the
// filesystem, and which server keeps its data there. A spec says what, never how: recordsize,
// ashift and settings come from Plumb's rules. It looks at no machine. A whole one:
//
//	pool:
//	  name: tank
//	  layout: mirror
//	  disks:
//	    - /dev/disk/by-id/nvme-SAMSUNG_MZQL2960_S64FNE0R1
//	    - {path: /dev/disk/by-id/nvme-SAMSUNG_MZQL2960_S64FNE0R2, serial: S64FNE0R2, size: 960197124096}
//	server:
//	  product: mariadb
//	  memory: 24G
//
// Sizes are bytes, or a number with K, M, G, T or P: powers of 1024. example.yaml has one with all keys.
package spec

import (
	_ "embed"
	"strings"
)

//go:embed spec.v1.schema.json
var schema []byte

// Schema gives the JSON schema of specs, for editors.
func Schema() []byte { return schema }

// Spec is one file. Exactly one of Pool, Use and Filesystem is set.
type Spec struct {
	Pool       *Pool
	Use        string // a pool, or a dataset of one, that is there already: only datasets are made in it
	Filesystem *Filesystem
	Server     Server
	// From names the makers' repository, as package product does, from which a server is installed that is not there; "": the
	// system's own sources.
	From string
}

// Pool is a pool of ZFS that is made.
type Pool struct {
	Name    string
	Layout  Layout
	Data    []Disk // pool.disks, in groups of Width
	Width   int    // disks in each vdev; 0: all in one
	Special []Disk // one vdev, which survives the loss of as many disks as the data do
	Log     []Disk // mirrored when there is more than one
	Cache   []Disk
	Key     string // of an encrypted pool: the file that holds it; "": not encrypted
}

// Layout is how the disks of a vdev stand together.
type Layout string

// The layouts.
const (
	Stripe Layout = "stripe"
	Mirror Layout = "mirror"
	RAIDZ1 Layout = "raidz1"
	RAIDZ2 Layout = "raidz2"
	RAIDZ3 Layout = "raidz3"
)

// Disk is a disk, partition, logical volume or, for trials, a file, and what must be true of it.
type Disk struct {
	Path   string // /dev/disk/by-id/…, /dev/VG/LV, or of a file
	Serial string // "": not asked
	Size   int64  // bytes, and of a file how large it is made; 0: not asked
	Erase  string // the serial of a disk that may be overwritten although something is on it; "": none may
}

// Filesystem is one that is made on one device.
type Filesystem struct {
	Type   string // ext4, xfs, btrfs
	Device Disk
	At     string // where it is mounted; the data lie in a directory of it. "": below /srv, by the server's name
	// Of an array that does not tell: bytes that go to one disk before the next, and disks with data.
	Chunk int64
	Width int
}

// Server is whose data lie there.
type Server struct {
	Product string // as package product names those that the lab can make: a flavour, such as mariadb
	Version string // "": what is installed, or what the system's packages offer
	Name    string // of one that runs: mariadb:3306; "": the only one of its product
	Memory  int64  // bytes that are the server's; 0: what the rules leave it
	Role    Role   // "": whichever it plays
	At      string // where data are mounted; "": where the server keeps them now
	// Databases are made where they are not there, each for an owner who comes in by the socket alone.
	Databases []Database
}

// Own is what tells the server from others of its product, "" where the spec does not name it: 3307 of mariadb:3307, and
// of 3307.
func (s Server) Own() string { return s.Name[strings.IndexByte(s.Name, ':')+1:] }

// Database is one of a server.
type Database struct {
	Name  string
	Owner string // a user of the system, whom the kernel names to the server: nobody has a password
}

// Role is the part that a server plays in replication: the spec of one is not carried out on the other.
type Role string

// The roles.
const (
	Primary Role = "primary"
	Replica Role = "replica"
)
