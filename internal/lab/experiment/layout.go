package experiment

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"
)

// Layout is a volume with data that several arms begin from.
type Layout struct {
	Key   string
	Setup Setup    // of the first of them
	Arms  []string // in the order of the file
}

// Layouts groups the arms by what decides their volume and data.
func Layouts(x Experiment) []Layout {
	var all []Layout
	for _, a := range x.Arms {
		key := LayoutKey(a.Setup)
		i := slices.IndexFunc(all, func(l Layout) bool { return l.Key == key })
		if i < 0 {
			all = append(all, Layout{Key: key, Setup: a.Setup})
			i = len(all) - 1
		}
		all[i].Arms = append(all[i].Arms, a.Name)
	}
	return all
}

// MostMemory is what the server of a trial takes at most; 0: none has a limit.
func MostMemory(x Experiment) (most Bytes) {
	for _, a := range x.Arms {
		if a.Setup.Server != nil {
			most = max(most, a.Setup.Server.Memory)
		}
	}
	return most
}

// shape is what decides a volume and the data on it.
type shape struct {
	Volume  Volume            `json:"volume"`
	Engine  string            `json:"engine,omitempty"`
	Version string            `json:"version,omitempty"`
	Basedir string            `json:"basedir,omitempty"`
	Create  map[string]string `json:"create,omitempty"`
	Load    Load              `json:"load"`
}

// LayoutKey names a layout: arms with the same key share a volume and its
// data. The whole volume counts: mount options and the ARC are in force from
// when it is made, and so is the profile, because a limit belongs to a device.
// Of the server count what made the data, its program and server.create; its
// settings are those of each trial. Of the load counts the shape of the data;
// how it is used does not.
func LayoutKey(u Setup) string { return digest(shapeOf(u)) }

// DataKey names the data alone: layouts with the same key can be given the same bytes. A server's files
// are the same on every volume; those of a load without one are written as its volume takes them.
func DataKey(u Setup) string {
	s := shapeOf(u)
	if u.Server != nil {
		s.Volume = Volume{}
	}
	return digest(s)
}

func shapeOf(u Setup) shape {
	s := shape{Volume: u.Volume, Load: dataOf(u.Load)}
	if u.Server != nil {
		s.Engine, s.Version, s.Basedir, s.Create = u.Server.Engine, u.Server.Version, u.Server.Basedir, u.Server.Create
	}
	return s
}

// dataOf gives the fields of a load that decide what is loaded, with the
// defaults filled in.
func dataOf(l Load) Load {
	switch l.Kind {
	case OLTP:
		return Load{Kind: OLTP, Tables: cmp.Or(l.Tables, 1), Rows: cmp.Or(l.Rows, 10000), Fillfactor: l.Fillfactor}
	case TPCC:
		return Load{Kind: TPCC, Warehouses: cmp.Or(l.Warehouses, 1)}
	case FileIO:
		d := Load{Kind: FileIO, Files: cmp.Or(l.Files, 4), Total: cmp.Or(l.Total, 1<<30), Block: cmp.Or(l.Block, 16<<10), Compress: l.Compress}
		if l.Mode == "seqwr" { // its files are empty at first
			d.Mode = l.Mode
		}
		return d
	}
	return Load{Kind: l.Kind} // fsync makes its files itself
}

// deciding is what decides the trials of an experiment. Names of fields are
// part of the hash: they stay.
type deciding struct {
	Form     int           `json:"form"`
	Name     string        `json:"name"`
	Arms     []Arm         `json:"arms"`
	Design   string        `json:"design"`
	Fill     time.Duration `json:"fill,omitempty"`
	Warmup   time.Duration `json:"warmup"`
	Measure  time.Duration `json:"measure"`
	Unsteady bool          `json:"unsteady,omitempty"`
	Metric   string        `json:"metric"`
	Checks   []string      `json:"checks,omitempty"`
	Seed     uint64        `json:"seed"`
}

// hash names an experiment by what decides its trials. What only decides how
// many there are, how they are judged, or what a reader is told leaves it as
// it is, so that an experiment can be lengthened and its text corrected.
func hash(x Experiment) string {
	return digest(deciding{Form: 1, Name: x.Name, Arms: x.Arms, Design: x.Design, Fill: x.Fill, Warmup: x.Warmup, Measure: x.Measure, Unsteady: x.Unsteady,
		Metric: x.Metric, Checks: slices.Sorted(slices.Values(x.Checks)), Seed: x.Seed})
}

func digest(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain data, checked: no infinite numbers
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
