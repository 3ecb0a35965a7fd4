package experiment

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"regexp"
	"slices"
	"strconv"
	"time"

	"go.yaml.in/yaml/v4"

	"plumb/internal/hint"
	"plumb/internal/strictyaml"
	"plumb/internal/units"
)

// Bounds of one experiment: more is a slip of the pen.
const (
	mostText   = 64 << 10 // bytes of a file
	mostErrors = 20
	mostArms   = 100
	mostAxes   = 20
	mostPairs  = 1000
	mostBlocks = 1000
	longestRun = 24 * time.Hour
	longest    = 100     // of a name, characters
	mostSeed   = 1 << 53 // every ledger and every program reads such numbers exactly
)

// formVersion is that of the form of these files. A file that does not say has
// the first.
const formVersion = 1

// decidedWord is what until says for stopping when all verdicts are sure.
const decidedWord = "decided"

// Parse reads an experiment file and checks it, without looking at the
// machine. The file's name is for messages. The error joins its mistakes, the
// first twenty, each a [strictyaml.Error].
func Parse(name string, text []byte) (Experiment, error) {
	if len(text) > mostText {
		return Experiment{}, strictyaml.Error{File: name, Line: 1, Col: 1, Msg: fmt.Sprintf("too large for an experiment: at most %d bytes", mostText)}
	}
	s, root := strictyaml.Parse(name, text)
	r := &reader{doc: s, said: map[strictyaml.Error]bool{}}
	if root != nil {
		if err := newer(name, root); err != nil {
			return Experiment{}, err
		}
		if r.alone(text) {
			r.file(root)
		}
	}
	if err := r.mistakes(); err != nil {
		return Experiment{}, err
	}
	r.x.Text = slices.Clone(text)
	r.x.Hash = hash(r.x)
	return r.x, nil
}

// newer refuses a file of a later form, whose other mistakes may be none.
func newer(name string, root *strictyaml.Node) error {
	k := keyOf(root, "plumb")
	if k < 0 {
		return nil
	}
	version, err := strconv.Atoi(root.Content[k+1].Value)
	if err != nil || version <= formVersion {
		return nil // a mistake, or read with the rest
	}
	return fmt.Errorf("%s:%d: %w", name, root.Content[k].Line, hint.Newer("it is an experiment", version, formVersion))
}

// alone says when a file holds a second document, which would not be read.
func (r *reader) alone(text []byte) bool {
	d := yaml.NewDecoder(bytes.NewReader(text))
	var first, second strictyaml.Node
	if d.Decode(&first) != nil || errors.Is(d.Decode(&second), io.EOF) {
		return true
	}
	r.doc.At(max(second.Line, 1), max(second.Column, 1), "a second document begins here: a file contains one experiment")
	return false
}

// reader reads one file.
type reader struct {
	doc  *strictyaml.Document
	x    Experiment
	said map[strictyaml.Error]bool

	base, axes, arms, except, compare, baseline, checks, published *strictyaml.Node

	variants []variant // the arms, as they are written
}

// mistakes joins what was found, each once: arms share what their base says.
func (r *reader) mistakes() error {
	var list []strictyaml.Error
	seen := map[strictyaml.Error]bool{}
	for _, e := range r.doc.Errors() {
		if !seen[e] {
			seen[e] = true
			list = append(list, e)
		}
	}
	if more := len(list) - mostErrors; more > 0 {
		last := list[mostErrors-1]
		last.Msg += fmt.Sprintf(" (and %s)", units.Count(more, "more mistake"))
		list = append(list[:mostErrors-1], last)
	}
	return strictyaml.Join(list)
}

// file reads the whole file. What needs the arms comes after them.
func (r *reader) file(root *strictyaml.Node) {
	seeded := false
	r.x = Experiment{Design: Blocks, Least: 3, Most: 8, Warmup: 5 * time.Second, Measure: 20 * time.Second, Metric: "rate", Margin: 0.05}
	fields := r.words()
	fields["seed"] = func(n *strictyaml.Node) { seeded, r.x.Seed = true, uint64(r.count(n, "seed", 0, mostSeed-1)) }
	r.doc.Object(root, "an experiment", fields, "experiment", "question", "base")
	if !seeded {
		r.x.Seed = seedOf(r.x.Name)
	}
	if !strictyaml.IsMap(root) || !r.spell(root) {
		return
	}
	r.setups()
	r.pairs()
	r.readPublished()
	r.readChecks()
	r.abba()
	r.interleaved()
}

// words says how each key of a file is read. Those that concern arms are only
// kept here and read when the arms are known.
func (r *reader) words() strictyaml.Fields {
	s, x := r.doc, &r.x
	later := func(into **strictyaml.Node) func(*strictyaml.Node) { return func(n *strictyaml.Node) { *into = n } }
	return strictyaml.Fields{
		"plumb":      func(n *strictyaml.Node) { r.count(n, "plumb", 1, formVersion) },
		"experiment": func(n *strictyaml.Node) { x.Name = r.name(n) },
		"question":   func(n *strictyaml.Node) { x.Question = r.needed(n, "question") },
		"source":     func(n *strictyaml.Node) { x.Source = s.Text(n, "source") },
		"notes":      func(n *strictyaml.Node) { x.Notes = s.Text(n, "notes") },
		"published":  later(&r.published),
		"base":       later(&r.base),
		"axes":       later(&r.axes),
		"arms":       later(&r.arms),
		"except":     later(&r.except),
		"compare":    later(&r.compare),
		"baseline":   later(&r.baseline),
		"checks":     later(&r.checks),
		"design":     func(n *strictyaml.Node) { x.Design = s.OneOf(n, "design", Blocks, ABBA, Interleaved) },
		"blocks":     r.blocks,
		"measure":    r.measure,
		"until":      r.until,
		"budget":     func(n *strictyaml.Node) { x.Budget = r.duration(n, "budget", time.Second, 30*longestRun) },
		"metric":     func(n *strictyaml.Node) { x.Metric = s.OneOf(n, "metric", metrics()...) },
		"margin":     func(n *strictyaml.Node) { x.Margin = r.percent(n, "margin") },
	}
}

// metrics are what arms can be compared by: operations a second, or the mean
// or a percentile of the response time.
func metrics() []string { return []string{"rate", "mean", "p50", "p95", "p99"} }

var plainName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

func (r *reader) name(n *strictyaml.Node) string {
	name := r.doc.Text(n, "experiment")
	if n.Kind == yaml.ScalarNode && !plainName.MatchString(name) {
		r.doc.Errorf(n, "the name %q must consist of a-z, 0-9 and -, at most 63 characters", name)
		return ""
	}
	return name
}

func (r *reader) blocks(n *strictyaml.Node) {
	x, most := &r.x, false
	r.doc.Object(n, "blocks", strictyaml.Fields{
		"least": func(n *strictyaml.Node) { x.Least = int(r.count(n, "blocks.least", 1, mostBlocks)) },
		"most":  func(n *strictyaml.Node) { most, x.Most = true, int(r.count(n, "blocks.most", 1, mostBlocks)) },
	})
	switch {
	case x.Least <= x.Most:
	case !most:
		x.Most = x.Least
	case len(n.Content) == 2: // only most is written
		x.Least = x.Most
	default:
		r.doc.Errorf(n, "blocks.least is %d, more than blocks.most, %d", x.Least, x.Most)
	}
}

// until reads when to stop before all blocks are done: "decided", or at a
// precision.
func (r *reader) until(n *strictyaml.Node) {
	if n.Value == decidedWord {
		r.x.Decided = true
		return
	}
	r.x.Until = r.percent(n, "until")
}

func (r *reader) measure(n *strictyaml.Node) {
	x := &r.x
	r.doc.Object(n, "measure", strictyaml.Fields{
		"fill":     func(n *strictyaml.Node) { x.Fill = r.duration(n, "measure.fill", 0, longestRun) },
		"warmup":   func(n *strictyaml.Node) { x.Warmup = r.duration(n, "measure.warmup", 0, longestRun) },
		"time":     func(n *strictyaml.Node) { x.Measure = r.duration(n, "measure.time", time.Second, longestRun) },
		"unsteady": func(n *strictyaml.Node) { x.Unsteady = r.doc.Switch(n, "measure.unsteady") },
	})
}

// seedOf makes a seed of a name: the same file gives the same order wherever
// it is run.
func seedOf(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name)) // never an error
	return h.Sum64() % mostSeed
}
