package rule

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"plumb/internal/strictyaml"
)

// reader reads one rule file.
type reader struct {
	doc      *strictyaml.Document
	compiler *compiler
	rule     *Rule
	root     *strictyaml.Node
	vars     map[string]string // variable to kind
	unbound  bool              // a binding could not be read
	scope    *scope

	// nodes that are compiled once the variables are known
	when, title, say *strictyaml.Node
	remedies         []*strictyaml.Node
	examples         []*strictyaml.Node
}

// requiredKeys are those every rule has. The last two are for people and for
// tests: judging needs neither.
var requiredKeys = []string{"id", "title", "harm", "gain", "when", "say", "basis", "versions", "explain", "examples"}

// read reads the whole rule and checks it; mistakes go to the sheet.
func (d *reader) read(root *strictyaml.Node, id string) {
	d.fields(root, id, requiredKeys)
	if d.unbound { // what follows would only be said again of every use
		return
	}
	d.condition()
	d.texts()
	for _, n := range d.examples {
		d.example(n)
	}
	d.outcomes(root)
}

// fields reads what is written and compiles nothing.
func (d *reader) fields(root *strictyaml.Node, id string, required []string) {
	s, r := d.doc, d.rule
	d.root, d.vars = root, map[string]string{hostVar: "host"}
	text := func(into *string, what string) func(*strictyaml.Node) {
		return func(n *strictyaml.Node) { *into = strings.TrimSpace(s.Text(n, what)) }
	}
	sources, quote := root, root
	s.Object(root, "a rule", strictyaml.Fields{
		"id": func(n *strictyaml.Node) {
			if r.ID = s.Text(n, "id"); r.ID != id {
				s.Errorf(n, "the id is the path of the file: %s", id)
			}
		},
		"title": func(n *strictyaml.Node) { d.title, r.Title = n, s.Text(n, "title") },
		"harm": func(n *strictyaml.Node) {
			r.Harm = Harm(s.OneOf(n, "harm", string(Danger), string(Outage), string(Slow), string(Note)))
		},
		"gain":     func(n *strictyaml.Node) { r.Gain = Gain(s.OneOf(n, "gain", string(High), string(Medium), string(Low))) },
		"for":      func(n *strictyaml.Node) { d.bindings(n) },
		"distinct": func(n *strictyaml.Node) { r.Distinct = s.Texts(n, "distinct"); d.distinct(n) },
		"when":     func(n *strictyaml.Node) { d.when, r.When = n, s.Text(n, "when") },
		"say":      func(n *strictyaml.Node) { d.say, r.Say = n, s.Text(n, "say") },
		"explain":  text(&r.Explain, "explain"),
		"remedy": func(n *strictyaml.Node) {
			s.Items(n, "remedy", func(c *strictyaml.Node) {
				d.remedies, r.written = append(d.remedies, c), append(r.written, writtenRemedy(c))
			})
		},
		"basis": func(n *strictyaml.Node) {
			r.Basis = Basis(s.OneOf(n, "basis", string(Measured), string(Documented), string(Folklore)))
		},
		"versions": text(&r.Versions, "versions"),
		"range":    func(n *strictyaml.Node) { d.claims(n) },
		"seeds":    func(n *strictyaml.Node) { r.Seeds = s.Texts(n, "seeds") },
		"sources":  func(n *strictyaml.Node) { sources, r.Sources = n, s.Texts(n, "sources") },
		"quote":    func(n *strictyaml.Node) { quote = n; d.quote(n) },
		"examples": func(n *strictyaml.Node) {
			s.Items(n, "examples", func(c *strictyaml.Node) { d.examples = append(d.examples, c) })
		},
	}, required...)
	if r.Basis == Folklore && r.Harm != Note && r.Harm != "" {
		s.Errorf(root, "folklore is harm: note, never %s", r.Harm)
	}
	if r.Basis != Folklore && len(r.Sources) == 0 {
		s.Errorf(sources, "a rule that is %s needs sources", r.Basis)
	}
	if r.Quote.From != "" && !slices.Contains(r.Sources, r.Quote.From) {
		s.Errorf(quote, "the quote is from %s, which is not among the sources", r.Quote.From)
	}
}

// quote reads the sentence that decides.
func (d *reader) quote(n *strictyaml.Node) {
	q := &d.rule.Quote
	d.doc.Object(n, "a quote", strictyaml.Fields{
		"says": func(n *strictyaml.Node) { q.Says = strings.TrimSpace(d.doc.Text(n, "says")) },
		"from": func(n *strictyaml.Node) { q.From = d.doc.Text(n, "from") },
	}, "says", "from")
}

// condition compiles the condition; the variables are known.
func (d *reader) condition() {
	var err error
	if d.scope, err = d.compiler.scope(d.vars); err != nil {
		d.doc.Errorf(d.root, "%v", err)
		return
	}
	if d.when != nil {
		d.rule.when = d.truth(d.when, "when")
	}
}

// texts compiles what is said when the condition holds.
func (d *reader) texts() {
	if d.scope == nil {
		return
	}
	r := d.rule
	if d.title != nil {
		r.title = d.template(d.title)
	}
	if d.say != nil {
		r.say = d.template(d.say)
	}
	for _, n := range d.remedies {
		if m := d.remedy(n); m != nil {
			r.remedies = append(r.remedies, m)
		}
	}
}

// bindingPattern is "variable in kind" or "variable in variable.link.link".
var bindingPattern = regexp.MustCompile(`^([a-z][a-z0-9_]*) in ([a-z_][a-z0-9_]*)((?:\.[a-z_][a-z0-9_]*)*)$`)

func (d *reader) bindings(n *strictyaml.Node) {
	before := len(d.doc.Errors())
	d.doc.Items(n, "for", d.binding)
	d.unbound = len(d.doc.Errors()) > before
}

// binding reads "db in mysql" or "ds in db.data.dataset".
func (d *reader) binding(n *strictyaml.Node) {
	s := d.doc
	text := strings.TrimSpace(s.Text(n, "a binding"))
	if text == "" {
		return
	}
	m := bindingPattern.FindStringSubmatch(text)
	if m == nil {
		s.Errorf(n, "%q is not a binding: write \"db in mysql\" or \"ds in db.data.dataset\"", text)
		return
	}
	b := Binding{Var: m[1]}
	if _, twice := d.vars[b.Var]; twice {
		s.Errorf(n, "%s is bound already", b.Var)
		return
	}
	if reserved(b.Var) {
		s.Errorf(n, "%s cannot name a variable: CEL keeps the word for itself", b.Var)
		return
	}
	kinds := d.compiler.cat.Kinds
	known := slices.Sorted(maps.Keys(kinds))
	if m[3] == "" {
		if b.Kind = m[2]; kinds[b.Kind] == nil {
			s.Errorf(n, "there is no kind %s%s", b.Kind, strictyaml.Meant(b.Kind, known))
			return
		}
	} else if !d.path(n, &b, m[2], m[3]) {
		return
	}
	d.vars[b.Var] = b.Kind
	d.rule.For = append(d.rule.For, b)
}

// path follows the links of a binding through the catalogue.
func (d *reader) path(n *strictyaml.Node, b *Binding, from, links string) bool {
	b.From, b.Kind = from, d.vars[from]
	if b.Kind == "" {
		d.doc.Errorf(n, "%s is not bound above%s", from, strictyaml.Meant(from, slices.Sorted(maps.Keys(d.vars))))
		return false
	}
	b.Links = strings.Split(links[1:], ".")
	for _, link := range b.Links {
		k := d.compiler.cat.Kinds[b.Kind]
		to, ok := k.Links[link]
		if !ok {
			d.doc.Errorf(n, "%s has no link %s%s", k.Name, link, strictyaml.Meant(link, slices.Sorted(maps.Keys(k.Links))))
			return false
		}
		b.Kind = to.To
	}
	return d.compiler.cat.Kinds[b.Kind] != nil
}

func (d *reader) distinct(n *strictyaml.Node) {
	kinds := map[string]bool{}
	for _, name := range d.rule.Distinct {
		kind := d.vars[name]
		if kind == "" || name == hostVar {
			d.doc.Errorf(n, "%s is not bound above: distinct comes after for", name)
		}
		kinds[kind] = true
	}
	if len(d.rule.Distinct) < 2 || len(kinds) > 1 {
		d.doc.Errorf(n, "distinct names two or more variables of one kind")
	}
}

// reserved reports whether CEL does not allow a word as a name.
func reserved(word string) bool {
	return slices.Contains(strings.Fields("true false null in as break const continue else for function if import let loop package namespace return var void while"), word)
}
