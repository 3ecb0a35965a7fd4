package rehearse

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"plumb/internal/lab/experiment"
	"plumb/internal/search"
)

// round makes the experiment of a round of a search: as is and some points, in
// one block.
func (s *Search) round(points []search.Point) (Stage, error) {
	var arms []pointed
	for i, point := range points {
		arms = append(arms, pointed{pointArm + strconv.Itoa(len(s.Tried)+1+i), pathsOf(s.Dials, point)})
	}
	warmup, measure := SearchPace(s.from.Experiment)
	return s.derived(derived{name: fmt.Sprintf("search-%d", s.rounds+1), arms: arms, least: 1, most: 1, keep: []string{AsIs}, warmup: warmup, measure: measure,
		question: fmt.Sprintf("What do other numbers bring? Round %d of a search", s.rounds+1)})
}

// Confirmation makes the experiment that measures the best point anew, beside
// as is and the arm that points were tried on top of.
func (s *Search) Confirmation(least, most int) (Stage, error) {
	warmup, measure := SearchPace(s.from.Experiment)
	d := derived{name: "search-best", arms: []pointed{{BestFound, pathsOf(s.Dials, s.Best)}}, least: least, most: most, keep: []string{AsIs, s.on}, warmup: warmup, measure: measure,
		question: "Is the best that a search found better, measured anew?"}
	if s.on != AsIs {
		d.compare = append(d.compare, [2]string{BestFound, s.on})
	}
	d.compare = append(d.compare, [2]string{BestFound, AsIs})
	return s.derived(d)
}

// pointed is a new arm: its name, and what it sets beyond the arm that points are tried on.
type pointed struct {
	name string
	set  map[string]string
}

func pathsOf(dials []Tunable, point search.Point) map[string]string {
	all := map[string]string{}
	for i, d := range dials {
		maps.Copy(all, d.Sets(point[i]))
	}
	return all
}

// derived is how an experiment differs from the one it is made from.
type derived struct {
	name, question string
	keep           []string // arms of the other
	arms           []pointed
	compare        [][2]string // empty: all with as is
	least, most    int         // blocks
	warmup         time.Duration
	measure        time.Duration
	budget         time.Duration // 0: none
	brief          bool          // caches need not be full
	notes          string
}

func (s *Search) derived(d derived) (Stage, error) {
	stage, err := d.of(s.from, s.on)
	if err != nil {
		return stage, fmt.Errorf("search: %w", err)
	}
	return stage, nil
}

// of makes an experiment of another's file: the same base, load and seed, other
// arms, on top of one that it has.
func (d derived) of(from Stage, on string) (Stage, error) {
	var file yaml.Node
	if err := yaml.Unmarshal(from.Text, &file); err != nil || file.Kind != yaml.DocumentNode || len(file.Content) != 1 {
		return Stage{}, fmt.Errorf("the experiment of stage %s is no mapping", from.Name)
	}
	root := file.Content[0]
	old := nodeOf(root, "arms")
	if old == nil {
		return Stage{}, fmt.Errorf("the experiment of stage %s names no arms", from.Name)
	}
	putNode(root, "experiment", words(nameOf(from.Experiment.Name, d.name)))
	putNode(root, "question", words(d.question))
	putNode(root, "arms", d.armsOf(old, on))
	putNode(root, "blocks", flow(object(field{"least", number(int64(d.least))}, field{"most", number(int64(d.most))})))
	arms := len(d.keep) + len(d.arms)
	if d.brief || arms > from.AtOnce || arms == 1 {
		putNode(root, "design", words(experiment.Blocks))
	}
	putNode(root, "metric", words("rate"))
	if pace := nodeOf(root, "measure"); pace != nil {
		putNode(pace, "warmup", words(d.warmup.String()))
		putNode(pace, "time", words(d.measure.String()))
		if d.brief {
			dropNode(pace, "fill")
		}
	}
	for _, key := range []string{"compare", "baseline", "until", "budget", "published", "notes"} { // notes name the rules of the other's arms
		dropNode(root, key)
	}
	if d.budget > 0 {
		putNode(root, "budget", words(d.budget.String()))
	}
	if d.notes != "" {
		putNode(root, "notes", words(d.notes))
	}
	switch {
	case arms == 1: // nothing to compare
	case len(d.compare) == 0:
		putNode(root, "baseline", words(AsIs))
	default:
		pairs := sequence()
		for _, pair := range d.compare {
			pairs.Content = append(pairs.Content, flow(sequence(words(pair[0]), words(pair[1]))))
		}
		putNode(root, "compare", pairs)
		putNode(root, "until", words("decided"))
	}
	text, err := encoded(&file)
	if err != nil {
		return Stage{}, fmt.Errorf("write the experiment of %s: %w", d.name, err)
	}
	x, err := experiment.Parse(d.name, text)
	if err != nil {
		return Stage{}, fmt.Errorf("the experiment of %s: %w", d.name, err)
	}
	return Stage{Name: d.name, Experiment: x, Text: text, AtOnce: from.AtOnce}, nil
}

// SearchPace is how long trials of a search warm up and are measured: half as
// long as those of the first stage, because a surface makes more of many trials
// than of long ones.
func SearchPace(x experiment.Experiment) (warmup, measure time.Duration) {
	const leastWarmup, leastMeasure = 4 * time.Second, 8 * time.Second
	half := func(t, least time.Duration) time.Duration {
		return max(t/2, min(t, least)).Round(time.Second)
	}
	return half(x.Warmup, leastWarmup), half(x.Measure, leastMeasure)
}

// nameOf names an experiment after the one it is made from.
func nameOf(from, name string) string {
	const most = 62
	from = strings.TrimSuffix(from, "-all")
	return strings.Trim(from[:min(len(from), most-len(name)-1)], "-") + "-" + name
}

// armsOf gives the arms that are kept, and new ones on top of one of them.
func (d derived) armsOf(arms *yaml.Node, on string) *yaml.Node {
	out := sequence()
	var below *yaml.Node
	for _, a := range arms.Content {
		name := nodeOf(a, "name")
		if name == nil {
			continue
		}
		if slices.Contains(d.keep, name.Value) {
			out.Content = append(out.Content, a)
		}
		if name.Value == on {
			below = nodeOf(a, "set")
		}
	}
	for _, a := range d.arms {
		set := object()
		if below != nil {
			set.Content = slices.Clone(below.Content)
		}
		for _, path := range slices.Sorted(maps.Keys(a.set)) {
			putNode(set, path, words(a.set[path]))
		}
		out.Content = append(out.Content, object(field{"name", words(a.name)}, field{"set", set}))
	}
	return out
}

// nodeOf gives the value of a key; nil when there is none.
func nodeOf(n *yaml.Node, key string) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// putNode sets a key of a mapping.
func putNode(n *yaml.Node, key string, value *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content[i+1] = value
			return
		}
	}
	n.Content = append(n.Content, words(key), value)
}

func dropNode(n *yaml.Node, key string) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content = slices.Delete(n.Content, i, i+2)
			return
		}
	}
}
