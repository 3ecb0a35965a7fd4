package watch

import (
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/host/paths"
	"plumb/internal/series"
	"plumb/internal/stack"
)

// lasting is the part of a picture that holds until the next one: facts that stay until somebody changes them, and links. Facts
// that change with the work are read for each window, because a picture is minutes old.
func (j *Judge) lasting(picture *stack.Stack) *stack.Stack {
	s := picture.Clone()
	for _, t := range s.Things {
		for name := range t.Facts {
			switch j.cat.OverTime(t.Ref.Kind, name) {
			case stack.Counter, stack.Gauge, stack.Average:
				delete(t.Facts, name)
			}
		}
	}
	j.linkFiles(s)
	linkDevices(s)
	return s
}

// overlay lays the values of a window over the lasting part of the newest picture, whose values remain where no source reads them.
func (j *Judge) overlay(w *judged) *stack.Stack {
	s := j.picture.Clone()
	var seen stack.Observation
	for _, of := range slices.SortedFunc(maps.Keys(w.values), stack.Ref.Compare) {
		t := s.Find(of)
		if t == nil {
			t = seen.New(of.Kind, of.Name)
		}
		for name, v := range w.values[of] {
			j.set(t, name, v)
		}
	}
	s.Add("watch", seen)
	s.Gaps = append(s.Gaps, j.stackGaps(w)...)
	linkGroups(s)
	return s
}

// linkDevices links each filesystem to every device below it. If it is not known what the filesystem is made on, the link is
// unknown. If only the disks below that are not known, a device of which nothing is known stands for them: so a verdict about a
// known device can be raised, and none can be ruled out.
func linkDevices(s *stack.Stack) {
	for _, fs := range s.OfKind("filesystem") {
		blocks, known := fs.Links["block"]
		if !known {
			if g, why := s.GapFor(fs.Ref, "block"); why {
				gap(s, fs.Ref, g.Why, g.Hint, "devices")
			}
			continue
		}
		disks, known := fs.Links["disks"]
		if !known {
			if len(blocks) == 0 {
				continue
			}
			disks = []stack.Ref{hidden(s, fs)}
		}
		fs.Link("devices", blocks...)
		for i := 0; i < len(fs.Links["devices"]) && i < mostDevices; i++ {
			if b := s.Find(fs.Links["devices"][i]); b != nil {
				fs.Link("devices", b.Links["on"]...)
			}
		}
		fs.Link("devices", disks...)
	}
}

// hidden makes the device that stands for the unknown disks below a filesystem, with the reason why they are unknown.
func hidden(s *stack.Stack, fs *stack.Thing) stack.Ref {
	of := stack.Ref{Kind: "block", Name: "below " + fs.Links["block"][0].Name}
	g, _ := s.GapFor(fs.Ref, "disks")
	gap(s, of, g.Why, g.Hint, "*")
	return of
}

// gap says why facts of a thing are not known of a window.
func gap(s *stack.Stack, of stack.Ref, why, hint string, facts ...string) {
	s.Gaps = append(s.Gaps, stack.Gap{Of: of, Facts: facts, Probe: "watch", Why: why, Hint: hint})
}

// mostDevices bounds what a chain that leads back to itself costs.
const mostDevices = 256

// set records a number as the catalogue types it.
func (j *Judge) set(t *stack.Thing, name string, v float64) {
	f := j.cat.Fact(t.Ref.Kind, name)
	if f == nil {
		return
	}
	t.Set(name, typed(f, v), f.From)
}

// typed gives a number as the catalogue types the fact.
func typed(f *catalog.Fact, v float64) stack.Value {
	switch f.Type {
	case catalog.Bool:
		return stack.Bool(v != 0)
	case catalog.Float, catalog.Percent, catalog.Ratio, catalog.Rate:
		return stack.Float(v)
	}
	return stack.Int(int64(math.Round(min(max(v, math.MinInt64), math.MaxInt64/2))))
}

// stackGaps gives the gaps of a window as those of the stack, so that a verdict
// that is unknown can say why. A gap about a reading is one about all that a
// window tells of it; one about a whole source is about all it has read lately.
func (j *Judge) stackGaps(w *judged) []stack.Gap {
	var out []stack.Gap
	for _, g := range w.gaps {
		if g.Of == (stack.Ref{}) {
			continue
		}
		facts := []string{"*"}
		if g.Name != "" {
			facts = []string{g.Name, g.Name + "_*"}
		}
		out = append(out, stack.Gap{Of: g.Of, Facts: facts, Probe: "watch", Why: g.Why, Hint: g.Hint})
	}
	for _, name := range slices.Sorted(maps.Keys(j.recent)) {
		batches := j.recent[name]
		for _, g := range batches[len(batches)-1].Gaps {
			if g.Of != (stack.Ref{}) {
				continue
			}
			for _, of := range refs(batches) {
				out = append(out, stack.Gap{Of: of, Facts: []string{"*"}, Probe: "watch", Why: name + ": " + g.Why, Hint: g.Hint})
			}
		}
	}
	return out
}

// refs lists what batches have readings of.
func refs(batches []series.Batch) []stack.Ref {
	seen := map[stack.Ref]bool{}
	for _, b := range batches {
		for _, r := range b.Readings {
			seen[r.Of] = true
		}
	}
	return slices.SortedFunc(maps.Keys(seen), stack.Ref.Compare)
}

// linkGroups links each control group to what it and the groups above it may
// ask of devices. Such a thing is named GROUP@DEVICE.
func linkGroups(s *stack.Stack) {
	above := map[stack.Ref]string{} // the group of each such thing
	for _, l := range s.OfKind("cgroup_device") {
		if at := strings.LastIndexByte(l.Ref.Name, '@'); at >= 0 {
			above[l.Ref] = rooted(l.Ref.Name[:at])
			l.Link("group", stack.Ref{Kind: "cgroup", Name: l.Ref.Name[:at]})
			l.Link("device", stack.Ref{Kind: "block", Name: l.Ref.Name[at+1:]})
		}
	}
	for _, g := range s.OfKind("cgroup") {
		if len(g.Facts) == 0 {
			continue
		}
		g.Link("devices")
		for _, l := range s.OfKind("cgroup_device") {
			if group, named := above[l.Ref]; named && paths.Within(rooted(g.Ref.Name), group) {
				g.Link("devices", l.Ref)
			}
		}
	}
}

// rooted is the path of a control group from the root of its tree.
func rooted(group string) string { return path.Clean("/" + group) }
