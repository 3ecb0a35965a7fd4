package rehearse

import (
	"cmp"
	"fmt"
	"time"

	"plumb/internal/lab/experiment"
)

// Observation is what a look at a server is to be like.
type Observation struct {
	Engine  string           // mariadb, mysql, percona, postgres
	Version string           // "" for the installed one
	Memory  experiment.Bytes // of its control group
	Data    experiment.Bytes // that it is loaded with
	Time    time.Duration    // of load, before it is judged
	Seed    uint64
	Want    Want // its workload, threads and volume
}

// Observe makes an experiment of one trial: a server with the defaults of its
// distribution under the load of a rehearsal. When its stack is recorded after
// the load, it can be judged as if it were a live server; what is proposed then
// is tried in the same set-up ([Want.Like]).
func Observe(l Observation) (Stage, error) {
	const name, warm = "look", 5 * time.Second
	server := []field{{"engine", words(l.Engine)}, {"memory", words(l.Memory.String())}}
	if l.Version != "" {
		server = append(server, field{"version", words(l.Version)})
	}
	load := l.Want.load(int64(l.Data), cmp.Or(l.Want.Threads, defaultThreads))
	text, err := encoded(object(
		field{"experiment", words(name + "-" + l.Engine)},
		field{"question", words("What does a " + product(l.Engine) + " with the defaults of its distribution look like under this load?")},
		field{"base", object(field{"volume", volumeNode(l.volume())}, field{"server", object(server...)}, field{"load", loadNode(load)})},
		field{"arms", sequence(object(field{"name", words(AsIs)}, field{"set", object()}))},
		field{"blocks", object(field{"least", number(1)}, field{"most", number(1)})},
		field{"measure", object(field{"warmup", words(warm.String())}, field{"time", words(l.Time.String())}, field{"unsteady", plain("true")})},
		field{"checks", texts([]string{experiment.NoErrors})},
		field{"seed", number(int64(l.Seed))},
	))
	if err != nil {
		return Stage{}, fmt.Errorf("write the experiment of a look at %s: %w", l.Engine, err)
	}
	x, err := experiment.Parse(name, text)
	if err != nil {
		return Stage{}, fmt.Errorf("the experiment of a look at %s: %w", l.Engine, err)
	}
	return Stage{Name: name, Experiment: x, Text: text}, nil
}

// volume is a directory, or with a profile a volume of its own with room for
// the data, a copy, and logs larger than any default.
func (l Observation) volume() experiment.Volume {
	if l.Want.Volume == "" {
		return experiment.Volume{Kind: experiment.Directory}
	}
	size := roundUp(3*int64(l.Data)+4*gigabyte, gigabyte)
	return experiment.Volume{Kind: experiment.Loop, Size: experiment.Bytes(size), Filesystem: "ext4", Profile: l.Want.Volume}
}
