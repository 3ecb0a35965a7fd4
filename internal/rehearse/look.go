package rehearse

import (
	"bytes"
	"cmp"
	"fmt"
	"time"

	"go.yaml.in/yaml/v4"

	"plumb/internal/lab/experiment"
)

// Looking is what a look at a server is to be like.
type Looking struct {
	Engine  string           // mariadb, mysql, percona, postgres
	Version string           // "" for the installed one
	Memory  experiment.Bytes // of its control group
	Data    experiment.Bytes // that it is loaded with
	Time    time.Duration    // of load, before it is judged
	Seed    uint64
	Want    Want // its workload, threads and volume
}

// Look makes an experiment of one trial: a server with the defaults of its
// distribution under the load of a rehearsal. When its stack is recorded after
// the load, it can be judged as if it were a live server; what is proposed then
// is tried in the same set-up ([Want.Like]).
func Look(l Looking) (Stage, error) {
	const name, warm = "look", 5 * time.Second
	text, err := yaml.Marshal(lookFile{
		Experiment: name + "-" + l.Engine,
		Question:   "What does a " + product(l.Engine) + " with the defaults of its distribution look like under this load?",
		Base: lookBase{
			Volume: l.volume(),
			Server: lookServer{l.Engine, l.Version, l.Memory.String()},
			Load:   l.load(),
		},
		Arms:    []lookArm{{AsIs, map[string]string{}}},
		Blocks:  map[string]int{"least": 1, "most": 1},
		Measure: map[string]any{"warmup": warm.String(), "time": l.Time.String(), "unsteady": true},
		Checks:  []string{experiment.NoErrors},
		Seed:    l.Seed,
	})
	if err != nil {
		return Stage{}, fmt.Errorf("write the experiment of a look at %s: %w", l.Engine, err)
	}
	text = bytes.TrimLeft(text, "\n")
	x, err := experiment.Parse(name, text)
	if err != nil {
		return Stage{}, fmt.Errorf("the experiment of a look at %s: %w", l.Engine, err)
	}
	return Stage{Name: name, Experiment: x, Text: text}, nil
}

// lookFile is the form of the file, and in its order.
type lookFile struct {
	Experiment string         `yaml:"experiment"`
	Question   string         `yaml:"question"`
	Base       lookBase       `yaml:"base"`
	Arms       []lookArm      `yaml:"arms"`
	Blocks     map[string]int `yaml:"blocks"`
	Measure    map[string]any `yaml:"measure"`
	Checks     []string       `yaml:"checks"`
	Seed       uint64         `yaml:"seed"`
}

type lookBase struct {
	Volume lookVolume `yaml:"volume"`
	Server lookServer `yaml:"server"`
	Load   lookLoad   `yaml:"load"`
}

type lookVolume struct {
	Kind       string `yaml:"kind"`
	Size       string `yaml:"size,omitempty"`
	Filesystem string `yaml:"filesystem,omitempty"`
	Profile    string `yaml:"profile,omitempty"`
}

type lookServer struct {
	Engine  string `yaml:"engine"`
	Version string `yaml:"version,omitempty"`
	Memory  string `yaml:"memory"`
}

type lookLoad struct {
	Kind       string `yaml:"kind"`
	Script     string `yaml:"script,omitempty"`
	Tables     int    `yaml:"tables,omitempty"`
	Rows       int64  `yaml:"rows,omitempty"`
	Warehouses int    `yaml:"warehouses,omitempty"`
	Threads    int    `yaml:"threads"`
}

type lookArm struct {
	Name string            `yaml:"name"`
	Set  map[string]string `yaml:"set"`
}

// volume is a directory, or with a profile a volume of its own with room for
// the data, a copy, and logs larger than any default.
func (l Looking) volume() lookVolume {
	if l.Want.Volume == "" {
		return lookVolume{Kind: experiment.Directory}
	}
	const gigabyte = 1 << 30
	size := (3*int64(l.Data) + 4*gigabyte + gigabyte - 1) / gigabyte * gigabyte
	return lookVolume{Kind: experiment.Loop, Size: experiment.Bytes(size).String(), Filesystem: "ext4", Profile: l.Want.Volume}
}

func (l Looking) load() lookLoad {
	threads := cmp.Or(l.Want.Threads, usualThreads)
	if l.Want.Workload == experiment.TPCC {
		return lookLoad{Kind: experiment.TPCC, Warehouses: int(max(1, l.Data/experiment.HouseBytes)), Threads: threads}
	}
	return lookLoad{Kind: experiment.OLTP, Script: cmp.Or(l.Want.Workload, usualScript), Tables: tables, Rows: max(1000, int64(l.Data)/tables/experiment.RowBytes), Threads: threads}
}
