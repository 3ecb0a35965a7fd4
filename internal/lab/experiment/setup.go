package experiment

import (
	"encoding/json"
	"fmt"
	"strings"

	"plumb/internal/product"
	"plumb/internal/units"
)

// Setup is everything that can differ between arms. Its fields are addressed
// by their names in the file: "volume.filesystem", "server.settings.sync_binlog".
//
// Below, the tag "is" says what may be written: one of some words, a number of the
// first to the second, or a size of 0 or so much. The tag "for" names the kinds
// that a field has a meaning for, where that is not all.
type Setup struct {
	Volume Volume            `yaml:"volume" json:"volume"`
	Server *Server           `yaml:"server,omitempty" json:"server,omitempty"` // nil: files alone
	Load   Load              `yaml:"load,flow" json:"load"`
	Beside *Beside           `yaml:"beside,omitempty" json:"beside,omitempty"`
	Host   map[string]string `yaml:"host,omitempty" json:"host,omitempty"` // sysctls of the whole machine, put back after each trial; only with --allow-host
}

// Kinds of volumes.
const (
	Directory = "directory" // below the lab's own directory: needs no root, has no limit and no properties
	Loop      = "loop"      // a filesystem of its own on a loop device with direct I/O
	Zpool     = "zpool"     // a pool of its own on files or loop devices
	Dataset   = "dataset"   // a dataset of its own in a pool that is there and stays; has no limit
)

// Volume is what the data is put on.
type Volume struct {
	Kind       string            `yaml:"kind" json:"kind" is:"directory loop zpool dataset"`
	Size       Bytes             `yaml:"size,omitempty" json:"size,omitempty" is:"64M" for:"loop zpool"`                  // of the loop device, or of each vdev
	Filesystem string            `yaml:"filesystem,omitempty" json:"filesystem,omitempty" is:"ext4 xfs btrfs" for:"loop"` // loop: ext4, xfs, btrfs
	Mkfs       []string          `yaml:"mkfs,omitempty" json:"mkfs,omitempty" for:"loop"`                                 // more arguments for mkfs
	Mount      string            `yaml:"mount,omitempty" json:"mount,omitempty" for:"loop"`                               // options, as for mount -o
	Layout     string            `yaml:"layout,omitempty" json:"layout,omitempty" is:"mirror raidz stripe" for:"zpool"`   // zpool: "" for one vdev, mirror, raidz, stripe
	Vdevs      int               `yaml:"vdevs,omitempty" json:"vdevs,omitempty" is:"0 16" for:"zpool"`                    // zpool: how many; 0 for 1, or 2 for a mirror, 3 for raidz
	Log        Bytes             `yaml:"log,omitempty" json:"log,omitempty" is:"64M" for:"zpool"`                         // zpool: size of a log device; 0 for none
	Cache      Bytes             `yaml:"cache,omitempty" json:"cache,omitempty" is:"64M" for:"zpool"`                     // zpool: size of a cache device; 0 for none
	Pool       map[string]string `yaml:"pool,omitempty" json:"pool,omitempty" for:"zpool"`                                // zpool: pool properties, such as ashift
	Parent     string            `yaml:"parent,omitempty" json:"parent,omitempty" for:"dataset"`                          // dataset: the one it is made below, tank or tank/db
	Properties map[string]string `yaml:"properties,omitempty" json:"properties,omitempty" for:"zpool dataset"`            // zpool, dataset: of the dataset with the data
	Logs       map[string]string `yaml:"log_properties,omitempty" json:"log_properties,omitempty" for:"zpool"`            // zpool: the server's redo log or WAL lies on a dataset of its own, with these; none: with the data
	ARC        Bytes             `yaml:"arc,omitempty" json:"arc,omitempty" is:"64M" for:"zpool"`                         // zpool: most the ARC may take; it is counted in server.memory
	Profile    string            `yaml:"profile,omitempty" json:"profile,omitempty" for:"loop zpool dataset"`             // what a volume of the cloud allows: gp3, or iops=3000,mbps=125; "" for no limit
	Clone      string            `yaml:"clone,omitempty" json:"clone,omitempty" is:"auto copy reflink snapshot"`          // how each trial gets its data: auto, copy, reflink, snapshot
}

// Server is a private server.
type Server struct {
	Engine   string            `yaml:"engine" json:"engine" is:"mariadb mysql percona postgres"` // mariadb, mysql, percona, postgres
	Version  string            `yaml:"version,omitempty" json:"version,omitempty"`               // "" for the installed one; "17", "11.4"
	Basedir  string            `yaml:"basedir,omitempty" json:"basedir,omitempty"`               // of an unpacked one
	Memory   Bytes             `yaml:"memory,omitempty" json:"memory,omitempty" is:"64M"`        // for the server, its page cache and the ARC together; 0 for no limit
	UsedLogs bool              `yaml:"used_logs,omitempty" json:"used_logs,omitempty"`           // InnoDB's redo log was written through once: a flush of new space is a commit of the filesystem's journal as well
	Create   map[string]string `yaml:"create,omitempty" json:"create,omitempty"`                 // settings that count when the data is made, such as innodb_page_size
	Settings map[string]string `yaml:"settings,omitempty" json:"settings,omitempty"`             // as in its configuration file
}

// NamesPath tells whether the value of a setting leads to a file outside of the
// data directory.
func NamesPath(value string) bool {
	v := strings.TrimSpace(value)
	return strings.HasPrefix(v, "/") || strings.HasPrefix(v, "~") || strings.HasPrefix(v, "./") || strings.Contains(v, "../") || strings.Contains(v, ";/") || strings.Contains(v, ":/")
}

// KindOf is the kind of thing in the catalogue that an engine's servers are.
func KindOf(engine string) string { return product.OfFlavor(engine).Kind }

// Kinds of loads.
const (
	OLTP   = "oltp"   // one of sysbench's OLTP scripts
	TPCC   = "tpcc"   // TPC-C-like
	FileIO = "fileio" // files, one access pattern
	Fsync  = "fsync"  // one writer that appends or overwrites and syncs
)

// Load is what is done to the server or the volume. Fields that a kind does
// not know must be empty. Sizes and counts left at 0 take the defaults of
// plumb load.
type Load struct {
	Kind       string  `yaml:"kind" json:"kind" is:"oltp tpcc fileio fsync"`
	Script     string  `yaml:"script,omitempty" json:"script,omitempty" for:"oltp"`                         // oltp: oltp_read_write, …
	Tables     int     `yaml:"tables,omitempty" json:"tables,omitempty" is:"1 10000" for:"oltp"`            // oltp
	Rows       int64   `yaml:"rows,omitempty" json:"rows,omitempty" is:"1 2147483647" for:"oltp"`           // oltp: of each table
	Random     string  `yaml:"random,omitempty" json:"random,omitempty" for:"oltp"`                         // oltp: distribution of keys: uniform, pareto, …
	Fillfactor int     `yaml:"fillfactor,omitempty" json:"fillfactor,omitempty" is:"10 100" for:"oltp"`     // oltp: per cent of each page that are filled at first; 0: all
	Warehouses int     `yaml:"warehouses,omitempty" json:"warehouses,omitempty" is:"1 100000" for:"tpcc"`   // tpcc
	Mode       string  `yaml:"mode,omitempty" json:"mode,omitempty" for:"fileio fsync"`                     // fileio: rndrd, rndwr, …; fsync: append, overwrite
	Files      int     `yaml:"files,omitempty" json:"files,omitempty" is:"1 65536" for:"fileio"`            // fileio
	Total      Bytes   `yaml:"total,omitempty" json:"total,omitempty" is:"1M" for:"fileio"`                 // fileio: all files together
	Block      Bytes   `yaml:"block,omitempty" json:"block,omitempty" is:"512" for:"fileio fsync"`          // fileio, fsync: of a request
	Direct     bool    `yaml:"direct,omitempty" json:"direct,omitempty" for:"fileio"`                       // fileio: O_DIRECT
	Sync       string  `yaml:"sync,omitempty" json:"sync,omitempty" is:"fsync fdatasync dsync" for:"fsync"` // fsync: fsync, fdatasync, dsync
	Compress   float64 `yaml:"compressible,omitempty" json:"compressible,omitempty" is:"0 1" for:"fileio"`  // fileio: part of what is written that compresses away
	Threads    int     `yaml:"threads,omitempty" json:"threads,omitempty" is:"1 10000"`                     // 0 for 1
	Rate       float64 `yaml:"rate,omitempty" json:"rate,omitempty" is:"0 1e7" for:"oltp tpcc fileio"`      // operations a second that are due; 0 for a closed loop
}

// Beside is what goes on on the same volume while the load is measured.
type Beside struct {
	Kind  string `yaml:"kind" json:"kind" is:"copy"`   // copy: a large file is written through the page cache, again and again
	Size  Bytes  `yaml:"size" json:"size" is:"1M"`     // of the file
	Every string `yaml:"every,omitempty" json:"every"` // "" for without pause, otherwise a time
}

// Bytes is a size, written 4G, 512M, 16K or as a bare number; binary units.
type Bytes int64

// ParseBytes reads a size, also with B or iB behind its unit.
func ParseBytes(s string) (Bytes, error) {
	n, ok := units.ParseBytes(strings.TrimSuffix(strings.TrimSuffix(s, "B"), "i"))
	if !ok || n > 1<<60 {
		return 0, fmt.Errorf("%q is not a size: want something like 4G, 512M or 16K", s)
	}
	return Bytes(n), nil
}

// UnmarshalText implements encoding.TextUnmarshaler, which YAML uses too.
func (b *Bytes) UnmarshalText(text []byte) (err error) {
	*b, err = ParseBytes(string(text))
	return err
}

// MarshalYAML writes the size as files have it.
func (b Bytes) MarshalYAML() (any, error) { return b.String(), nil }

// UnmarshalJSON implements json.Unmarshaler: JSON has the number of bytes, and a
// text is read as in a file.
func (b *Bytes) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '"' {
		return json.Unmarshal(data, (*int64)(b))
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	return b.UnmarshalText([]byte(text))
}

// String prints the size in the largest unit that divides it.
func (b Bytes) String() string { return units.Typed(int64(b), "", "K", "M", "G", "T") }
