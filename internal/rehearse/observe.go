package rehearse

import (
	"cmp"
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
	return file{
		Experiment: name + "-" + l.Engine,
		Question:   "What does a " + product(l.Engine) + " with the defaults of its distribution look like under this load?",
		Base: experiment.Setup{Volume: l.volume(), Server: &experiment.Server{Engine: l.Engine, Version: l.Version, Memory: l.Memory},
			Load: l.Want.load(int64(l.Data), cmp.Or(l.Want.Threads, defaultThreads))},
		Arms: []fileArm{{Name: AsIs}}, Blocks: fileBlocks{1, 1}, Measure: fileMeasure{Warmup: warm, Time: l.Time, Unsteady: true},
		Checks: []string{experiment.NoErrors}, Seed: &l.Seed,
	}.stage(name, 0)
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
