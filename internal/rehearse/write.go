package rehearse

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"plumb/internal/hint"
	"plumb/internal/lab/experiment"
)

// stage writes an experiment as a file, and reads it back: what is carried out
// is what plumb lab run would repeat.
func (d *draft) stage(name string, arms []arm, budget time.Duration) (Stage, error) {
	text, err := d.file(name, arms, budget)
	if err != nil {
		return Stage{}, fmt.Errorf("write the experiment %s: %w", name, err)
	}
	x, err := experiment.Parse("rehearsal-"+name+".yaml", text)
	if err != nil {
		return Stage{}, hint.With(fmt.Errorf("the advice makes no sound experiment: %w", err), "this is a fault of Plumb's: tell us, with the plan")
	}
	return Stage{Name: name, Experiment: x, Text: text, AtOnce: d.atOnce()}, nil
}

func (d *draft) file(name string, arms []arm, budget time.Duration) ([]byte, error) {
	l := d.load()
	pace := d.pace()
	measure := []field{{"warmup", words(pace.warmup.String())}, {"time", words(pace.measure.String())}, {"unsteady", plain("true")}}
	if pace.fill > 0 {
		measure = append([]field{{"fill", words(pace.fill.String())}}, measure...)
	}
	question := fmt.Sprintf("What does the advice for %s bring, all of it together?", d.called())
	switch {
	case name != stageAll && d.want.WithoutOne:
		question = fmt.Sprintf("What is lost where one step of the advice for %s is left out?", d.called())
	case name != stageAll:
		question = fmt.Sprintf("What does each step of the advice for %s bring by itself?", d.called())
	}
	var list, pairs []*yaml.Node
	for i, a := range arms {
		var set []field
		for _, c := range a.set {
			set = append(set, field{c.path, words(c.value)})
		}
		list = append(list, object(field{"name", words(a.name)}, field{"set", object(set...)}))
		switch {
		case i == 0:
		case a.without: // what the step adds to the rest
			pairs = append(pairs, flow(sequence(words(AllAdvice), words(a.name))))
		default:
			pairs = append(pairs, flow(sequence(words(a.name), words(arms[0].name))))
		}
	}
	root := object(
		field{"experiment", words(d.name(name))},
		field{"question", words(question)},
		field{"source", words("plumb rehearse")},
		field{"notes", words(d.notes(arms))},
		field{"base", object(field{"volume", volumeNode(d.volume)}, field{"server", d.serverNode()}, field{"load", flow(loadNode(l))})},
		field{"arms", sequence(list...)},
		field{"compare", sequence(pairs...)},
		field{"design", words(d.design(arms))},
		field{"blocks", flow(object(field{"least", number(leastBlocks)}, field{"most", number(int64(d.mostBlocks()))}))},
		field{"measure", flow(object(measure...))},
		field{"until", words("decided")},
		field{"budget", words(budget.Round(time.Second).String())},
		field{"metric", words("rate")},
		field{"margin", words("5%")},
		field{"checks", flow(texts(checks(l)))},
	)
	text, err := encoded(root)
	return append([]byte("# Made by plumb rehearse; plumb lab run repeats it.\n"), text...), err
}

// encoded writes a file.
func encoded(n *yaml.Node) ([]byte, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	err := errors.Join(e.Encode(n), e.Close())
	return b.Bytes(), err
}

// called names the server for people.
func (d *draft) called() string {
	if d.want.Like != nil { // it is gone when this is read
		return "a default " + product(d.engine)
	}
	return d.server.Ref.String()
}

// name names the experiment after the server and the moment it was read: a
// later rehearsal is another one.
func (d *draft) name(stage string) string {
	name := strings.ToLower(d.server.Ref.String())
	if d.want.Like != nil {
		name = "default-" + d.engine
	}
	plainly := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, name)
	return fmt.Sprintf("rehearse-%s-%s-%s", strings.Trim(plainly[:min(len(plainly), 24)], "-"), d.stack.TakenAt.UTC().Format("20060102t150405"), stage)
}

// notes name the rules that the arms put to the test, in the form that [Tried]
// reads.
func (d *draft) notes(arms []arm) string {
	var all, lines []string
	for _, a := range arms {
		for _, u := range d.tried {
			if slices.ContainsFunc(a.set, func(c change) bool { return c.path == u[0].Path }) {
				all = append(all, u[0].Why...)
			}
			if u.arm() == a.name {
				lines = append(lines, RulesNote(a.name, u[0].Why))
			}
		}
	}
	slices.Sort(all)
	return strings.Join(append([]string{rulesAll + strings.Join(slices.Compact(all), ", ")}, lines...), "\n")
}

func volumeNode(v experiment.Volume) *yaml.Node {
	fields := []field{{"kind", words(v.Kind)}}
	for _, f := range []field{{"parent", words(v.Parent)}, {"filesystem", words(v.Filesystem)}, {"profile", words(v.Profile)}} {
		if f.value.Value != "" {
			fields = append(fields, f)
		}
	}
	if v.Size > 0 {
		fields = append(fields, field{"size", words(v.Size.String())})
	}
	if len(v.Properties) > 0 {
		fields = append(fields, field{"properties", settingsNode(v.Properties)})
	}
	return object(fields...)
}

func (d *draft) serverNode() *yaml.Node {
	fields := []field{{"engine", words(d.engine)}, {"version", words(d.version)}, {"memory", words(experiment.Bytes(d.size.memory).String())}}
	if experiment.KindOf(d.engine) == "mysql" {
		fields = append(fields, field{"used_logs", plain("true")})
	}
	if d.basedir != "" {
		fields = append(fields, field{"basedir", words(d.basedir)})
	}
	for _, f := range []struct {
		name string
		set  map[string]string
	}{{"create", d.create}, {"settings", d.settings}} {
		if len(f.set) > 0 {
			fields = append(fields, field{f.name, settingsNode(f.set)})
		}
	}
	return object(fields...)
}

func loadNode(l experiment.Load) *yaml.Node {
	if l.Kind == experiment.TPCC {
		return object(field{"kind", words(l.Kind)}, field{"warehouses", number(int64(l.Warehouses))}, field{"threads", number(int64(l.Threads))})
	}
	return object(field{"kind", words(l.Kind)}, field{"script", words(l.Script)}, field{"tables", number(int64(l.Tables))}, field{"rows", number(l.Rows)},
		field{"threads", number(int64(l.Threads))})
}

func settingsNode(set map[string]string) *yaml.Node {
	var fields []field
	for _, name := range slices.Sorted(maps.Keys(set)) {
		fields = append(fields, field{name, words(set[name])})
	}
	return object(fields...)
}

// field is a key of a mapping, in the order in which it is to stand.
type field struct {
	key   string
	value *yaml.Node
}

func object(fields ...field) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, f := range fields {
		n.Content = append(n.Content, words(f.key), f.value)
	}
	return n
}

func sequence(items ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: items}
}

func texts(all []string) *yaml.Node {
	n := sequence()
	for _, s := range all {
		n.Content = append(n.Content, words(s))
	}
	return n
}

// words is a text, which is quoted where it would be read as something else.
func words(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if strings.Contains(s, "\n") {
		n.Style = yaml.LiteralStyle
	}
	return n
}

func plain(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: s} }

func number(n int64) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.FormatInt(n, 10)}
}

func flow(n *yaml.Node) *yaml.Node {
	n.Style = yaml.FlowStyle
	return n
}
