package rehearse

import (
	"fmt"
	"regexp"
	"slices"

	"plumb/internal/advise"
	"plumb/internal/catalog"
	"plumb/internal/stack"
	"plumb/internal/units"
)

// An experiment file has its limits, and so has patience.
const (
	mostSteps    = 30  // that one rehearsal tries
	mostWithout  = 12  // with all others in each arm
	longestValue = 200 // of a step
)

// steps says of each step of the plan how it is tried, or why it is not.
func (d *draft) steps(plan advise.Plan, stake func(rule string) Importance) []Step {
	all := make([]Step, len(plan.Steps))
	taken := map[string]int{} // number of the step, by path
	tried, most := 0, mostSteps
	if d.want.WithoutOne {
		most = mostWithout
	}
	for i, a := range plan.Steps {
		s := Step{Step: a, Number: i + 1, Importance: importanceOf(a.Why, stake)}
		s.Path, s.Value, s.Left = d.target(a)
		switch first := taken[s.Path]; {
		case s.Left != "":
		case first > 0:
			s.Left = fmt.Sprintf("it sets the same as step %d", first)
		case tried == most:
			s.Left = fmt.Sprintf("a rehearsal tries %d steps at most", most)
		default:
			tried++
			taken[s.Path] = s.Number
			s.Scaled = d.scaledText(a)
		}
		if s.Left != "" {
			s.Path, s.Value = "", ""
		}
		all[i] = s
	}
	return all
}

// importanceOf puts together what the rules are about that ask for a step.
func importanceOf(rules []string, stake func(rule string) Importance) (all Importance) {
	if stake == nil {
		return all
	}
	for _, r := range rules {
		one := stake(r)
		all.Safety, all.Gain = all.Safety || one.Safety, max(all.Gain, one.Gain)
	}
	return all
}

// target says what a step sets in the experiment, and to what; or why it is
// left.
func (d *draft) target(a advise.Step) (path, value, left string) {
	of := a.Knob.Of
	dataset := d.datasetOfData()
	switch {
	case a.To.IsAbsent():
		return "", "", "it names no value"
	case of == d.server.Ref:
		return d.ofServer(a)
	case dataset != nil && of == dataset.Ref:
		return d.ofDataset(a)
	case of.Kind == "host":
		return d.ofHost(a)
	}
	return "", "", d.elsewhere(of)
}

// elsewhere says why a knob of something is not tried.
func (d *draft) elsewhere(of stack.Ref) string {
	switch of.Kind {
	case "dataset":
		if d.datasetOfData() == nil {
			return "a property of ZFS, and the sandbox is not on ZFS"
		}
		return fmt.Sprintf("a property of %s, which does not hold the data; the sandbox has everything on one dataset", of.Name)
	case "pool":
		return "a property of the whole pool"
	case "zfs":
		return "a setting of the ZFS module, in force for the whole machine"
	case "block":
		return "a setting of a disk that others use too"
	case "filesystem":
		return "an option of a mounted filesystem that holds the real data"
	case "process", "cgroup":
		return "a setting of the server's process, and the sandbox has one of its own"
	}
	return fmt.Sprintf("a setting of %s, which a sandbox does not have", of)
}

func (d *draft) ofServer(a advise.Step) (path, value, left string) {
	kind, name := d.server.Ref.Kind, a.Knob.Name
	value = d.written(name, a.To)
	apart, why := excluded(kind, name, value)
	switch {
	case apart && why != "":
		return "", "", why
	case apart:
		return "", "", "it concerns paths, logins, logs or peers, and a private server has its own"
	case !settable.MatchString(name) || len(value) > longestValue:
		return "", "", "it is not a setting that a configuration file can have"
	case atCreation(kind, name):
		return "server.create." + name, value, ""
	case d.fixed(name) || a.Effect == catalog.Recreate:
		return "", "", "it is fixed when the data directory is made, and the sandbox makes it another way"
	case d.followsPool(name) && d.size.scale < 1:
		return "", "", "it has no effect on a buffer pool as small as the sandbox's"
	case name == "max_connections" && d.tooFew(a.To):
		return "", "", "the load itself opens more connections"
	case d.noChange(name, value):
		return "", "", "in a sandbox of this size it is the same as now"
	}
	return "server.settings." + optionOf(kind, name), value, ""
}

// settable are names that option files and the lab take.
var settable = regexp.MustCompile(`^[a-z][a-z0-9_]{0,90}$`)

// noChange tells whether a cache has the same size with the step and without
// once both are made smaller.
func (d *draft) noChange(name, value string) bool {
	if _, isCache := kindOf(d.server.Ref.Kind).caches[name]; !isCache {
		return false
	}
	now, ok := d.inForce(name)
	return ok && d.written(name, now) == value
}

func (d *draft) tooFew(v stack.Value) bool {
	n, ok := v.Int()
	return !ok || n < d.sessions()
}

func (d *draft) ofDataset(a advise.Step) (path, value, left string) {
	name := a.Knob.Name
	if !slices.Contains(carried(), name) {
		return "", "", "a property that does not affect how the data are written, so no trial shows it"
	}
	t := catalog.Text
	if f := d.cat.Fact("dataset", name); f != nil {
		t = f.Type
	}
	value = catalog.Native("dataset", t, a.To)
	if !oneLine(value) || value == "" || len(value) > longestValue {
		return "", "", "its value is not one that zfs set takes"
	}
	return "volume.properties." + name, value, ""
}

// sysctl is what the lab sets of the whole machine, and puts back.
var sysctl = regexp.MustCompile(`^(vm|fs|kernel|net)\.[A-Za-z0-9_./-]{1,80}$`)

func (d *draft) ofHost(a advise.Step) (path, value, left string) {
	name := a.Knob.Name
	if f := d.cat.Fact("host", name); f != nil && f.Shown != "" {
		name = f.Shown
	}
	value = catalog.Native("host", "", a.To)
	switch {
	case !sysctl.MatchString(name) || !oneLine(value) || len(value) > longestValue:
		return "", "", "a setting of the whole machine that is not a sysctl"
	case !d.want.Host:
		return "", "", "a setting of the whole machine: --allow-host tries it"
	}
	return "host." + name, value, ""
}

// scaledText says how a value differs from the plan's.
func (d *draft) scaledText(a advise.Step) string {
	if a.Knob.Of != d.server.Ref || d.size.scale >= 1 {
		return ""
	}
	n, ok := a.To.Int()
	if !ok || d.scaled(a.Knob.Name, n) == n {
		return ""
	}
	text := units.Bytes(d.scaled(a.Knob.Name, n)) + " for " + units.Bytes(n)
	now, ok := d.inForce(a.Knob.Name)
	if have, isInt := now.Int(); ok && isInt {
		text += fmt.Sprintf(", and %s for the %s it has now", units.Bytes(d.scaled(a.Knob.Name, have)), units.Bytes(have))
	}
	return text
}
