// Package formula computes the settings that other advisers give, from what
// they ask of a machine. It knows their published formulas and facts, and none
// of their code; each function names the version it follows.
//
// Where an adviser gives something that cannot be in force in the contest (an
// extension that is not there, a setting that went away), it is left out, and
// a note says so.
package formula

import (
	"fmt"
	"strconv"
)

// Machine is what advisers ask for.
type Machine struct {
	Memory      int64  // bytes
	CPUs        int    // logical
	Disk        Disk   // class of storage
	Type        Type   // of the load
	Connections int    // most at once that are wanted; 0 leaves the number to the adviser
	Sessions    int    // most at once that were seen
	Data        int64  // bytes; 0 is not known
	Version     int    // major, of PostgreSQL
	Flavour     string // of MySQL: mariadb, mysql
}

// Disk is a class of storage.
type Disk string

// Type is a kind of load.
type Type string

// Classes of storage and kinds of load, in the words of PGTune. pgconfig says
// the same in capitals.
const (
	HDD  Disk = "hdd"
	SSD  Disk = "ssd"
	SAN  Disk = "san"
	NVMe Disk = "nvme"

	Web       Type = "web"
	OLTP      Type = "oltp"
	Warehouse Type = "dw"
	Mixed     Type = "mixed"
	Desktop   Type = "desktop"
)

// Advice is what an adviser says.
type Advice struct {
	Adviser  string            // its name in tables
	Version  string            // what the formulas follow, for people
	Settings map[string]string // of the server, as its configuration file has them
	Host     map[string]string // sysctls of the machine
	Unsafe   bool              // a crash may cost data
	Notes    []string          // what was left out, chosen or scaled; sentences
}

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30
)

// gibs is a size in GiB, with its fraction.
func gibs(n int64) float64 { return float64(n) / gib }

// kB writes kibibytes as PostgreSQL reads them, in the largest unit that
// divides them, as the advisers print them.
func kB(n int64) string {
	switch {
	case n != 0 && n%mib == 0:
		return strconv.FormatInt(n/mib, 10) + "GB"
	case n != 0 && n%kib == 0:
		return strconv.FormatInt(n/kib, 10) + "MB"
	}
	return strconv.FormatInt(n, 10) + "kB"
}

// size writes bytes as MySQL reads them. A size that is no whole number of MiB
// is rounded down to one: servers round to larger steps.
func size(n int64) string {
	if n != 0 && n%gib == 0 {
		return fmt.Sprintf("%dG", n/gib)
	}
	return fmt.Sprintf("%dM", n/mib)
}
