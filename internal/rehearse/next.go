package rehearse

import (
	"cmp"
	"slices"
	"time"

	"plumb/internal/advise"
	"plumb/internal/lab/experiment"
	"plumb/internal/stack"
)

// stageNext is a look at the server with all advice followed.
const stageNext = "next"

// AfterTheRest is the note of a step that a check of the sandbox added.
const AfterTheRest = "it shows in the sandbox, under its load, once the other advice is followed"

// Next makes an experiment of one trial: the server with all advice, under load
// for so long. A check of it says what shows only where the advice is followed:
// what the log lacks, once the cache is large enough.
func (p Proposal) Next(measure time.Duration) (Stage, error) {
	return derived{name: stageNext, question: "What does check advise once all advice is followed?", keep: []string{AllAdvice}, least: 1, most: 1,
		warmup: p.Stages[0].Experiment.Warmup, measure: measure}.of(p.Stages[0], AllAdvice)
}

// Follow adds to the plan what a check of the sandbox asks of the server, and
// gives the steps that are new or have another value now. What is about safety is
// left to a check of the server itself, which has its real files, logins and
// peers; so are the sizes of caches where the sandbox is smaller. What would take
// a setting back to what the server has is no advice for it.
func (p Proposal) Follow(found []advise.Step, server *stack.Thing, stake func(rule string) Importance) (plan advise.Plan, added []advise.Step) {
	plan = p.Plan
	plan.Steps = slices.Clone(plan.Steps)
	for _, s := range found {
		i := slices.IndexFunc(plan.Steps, func(o advise.Step) bool { return o.Knob == s.Knob })
		_, isCache := kindOf(server.Ref.Kind).caches[s.Knob.Name]
		now, known := server.Get(s.Knob.Name)
		switch {
		case isCache && p.Scale < 1, known && s.To.Equal(now), importanceOf(s.Why, stake).Safety, i >= 0 && (plan.Steps[i].To.Equal(s.To) || p.left(s.Knob)):
			continue
		case i >= 0:
			old := plan.Steps[i]
			s.From, s.DurabilityFrom, s.Because, s.Note = old.From, old.DurabilityFrom, old.Because, old.Note
			s.Why = slices.Compact(slices.Sorted(slices.Values(slices.Concat(old.Why, s.Why))))
			plan.Steps[i] = s
		default:
			s.From, s.Note = now, AfterTheRest
			plan.Steps = append(plan.Steps, s)
		}
		added = append(added, s)
	}
	return plan, added
}

// left tells whether a step is not tried.
func (p Proposal) left(k stack.Knob) bool {
	return slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Knob == k && s.Left != "" })
}

// Tried gives those of some steps that the proposal tries.
func (p Proposal) Tried(steps []advise.Step) []advise.Step {
	return slices.DeleteFunc(slices.Clone(steps), func(s advise.Step) bool { return p.left(s.Knob) })
}

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
	return stageOf(file{
		Experiment: name + "-" + l.Engine,
		Question:   "What does a " + labelOf(l.Engine) + " with the defaults of its distribution look like under this load?",
		Base: experiment.Setup{Volume: l.volume(), Server: &experiment.Server{Engine: l.Engine, Version: l.Version, Memory: l.Memory},
			Load: l.Want.load(int64(l.Data), cmp.Or(l.Want.Threads, defaultThreads))},
		Arms: []fileArm{{Name: AsIs}}, Blocks: experiment.FileBlocks{Least: 1, Most: 1}, Measure: experiment.FileMeasure{Warmup: warm, Time: l.Time, Unsteady: true},
		Checks: []string{experiment.NoErrors}, Seed: &l.Seed,
	}, name, 0)
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
