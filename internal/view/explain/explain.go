package explain

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/explain"
	"plumb/internal/rule"
	"plumb/internal/view/page"
	"plumb/internal/view/picture"
)

// Rule writes all there is to say of one rule: when it fires, the mechanism,
// what it rests on, what experiments showed.
func Rule(r *rule.Rule, proof explain.Proof, screen page.Screen) string {
	p := page.NewPage(screen)
	p.Sides("", page.Bold, r.ID, page.Dim, strings.Join([]string{string(r.Harm), string(r.Gain) + " gain", string(r.Basis)}, " · "))
	p.Para(page.Normal, 0, blanks(r.Title))
	section(p, "WHY")
	prose(p, cmp.Or(r.Explain, r.Say))
	section(p, "FIRES WHEN")
	for _, b := range r.For {
		p.Hang(page.Normal, "    ", bindingText(b))
	}
	p.Hang(page.Cyan, "    ", r.When)
	written(p, r.Written())
	section(p, "RESTS ON")
	p.Hang(page.Normal, "    basis     ", string(r.Basis)+": "+basisText(r.Basis))
	if r.Versions != "" {
		p.Hang(page.Normal, "    versions  ", r.Versions)
	}
	if proof.Standing != nil {
		meetings(p, *proof.Standing)
	}
	proven(p, proof)
	if r.Quote.Says != "" {
		section(p, "DECIDED BY")
		p.Para(page.Normal, 4, "“"+r.Quote.Says+"”")
		p.Hang(page.Dim, "    ", r.Quote.From)
	}
	if len(r.Sources) > 0 {
		section(p, "SOURCES")
	}
	for _, s := range r.Sources {
		p.Hang(page.Normal, "    ", s)
	}
	return p.String()
}

func section(p *page.Page, name string) {
	p.Blank()
	p.Line(page.Bold, name)
}

// prose writes paragraphs. Lines that are indented or start a list keep their
// own line: they are commands, tables or points.
func prose(p *page.Page, text string) {
	var para []string
	flush := func() {
		if len(para) > 0 {
			p.Para(page.Normal, 4, strings.Join(para, " "))
			para = nil
		}
	}
	for l := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		switch trimmed := strings.TrimSpace(l); {
		case trimmed == "":
			flush()
			p.Blank()
		case strings.HasPrefix(l, "  "):
			flush()
			p.Hang(page.Normal, "    "+l[:len(l)-len(strings.TrimLeft(l, " "))], keepSpaces(trimmed, p.Text-8))
		case strings.HasPrefix(trimmed, "- "), strings.HasPrefix(trimmed, "* "):
			flush()
			para = append(para, trimmed)
		default:
			para = append(para, trimmed)
		}
	}
	flush()
}

// keepSpaces keeps the spacing of a line of a table or a command where it
// fits.
func keepSpaces(s string, w int) string {
	if page.Width(s) > w {
		return s
	}
	return page.Keep(s)
}

// written lists the remedies as the rule's file has them.
func written(p *page.Page, list []rule.WrittenRemedy) {
	if len(list) == 0 {
		return
	}
	section(p, "REMEDY")
	for _, w := range list {
		if w.If != "" {
			p.Hang(page.Dim, "    ", "if "+w.If)
		}
		text := blanks(w.Do)
		if w.Knob != "" {
			text = w.Knob + " = " + w.To
		}
		if w.Note != "" {
			text += " · " + blanks(w.Note)
		}
		p.Hang(page.Normal, "    ", text)
	}
}

// blanks writes the {expressions} of a text as blanks to be filled:
// {show(db.innodb_page_size)} becomes <db.innodb_page_size>.
func blanks(text string) string {
	var out strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "{")
		out.WriteString(before)
		if !ok {
			return out.String()
		}
		expr, after, _ := strings.Cut(rest, "}")
		if inner, is := strings.CutPrefix(expr, "show("); is && strings.Count(expr, "(") == 1 {
			expr = strings.TrimSuffix(inner, ")")
		}
		if strings.ContainsAny(expr, "(*/+?") {
			expr = "..." // a computation tells nothing without its value
		}
		out.WriteString("<" + expr + ">")
		text = after
	}
}

func bindingText(b rule.Binding) string {
	if b.From == "" {
		return "for every " + b.Kind + " " + b.Var
	}
	return "and every " + b.Kind + " " + b.Var + " that is " + strings.Join(append([]string{b.From}, b.Links...), ".")
}

func basisText(b rule.Basis) string {
	switch b {
	case rule.Measured:
		return "an experiment of Plumb's own shows it"
	case rule.Documented:
		return "the sources below say it for these versions"
	}
	return "widely said, but proven by nobody: never more than a note"
}

// Fact writes all there is to say of one fact or setting. users are the rules
// that use it.
func Fact(f *catalog.Fact, kind *catalog.Kind, users []string, screen page.Screen) string {
	p := page.NewPage(screen)
	what := "fact"
	if f.Knob != nil {
		what = "setting"
	}
	p.Sides("", page.Bold, cmp.Or(f.Shown, f.Name), page.Dim, what+" · "+cmp.Or(kind.Title, kind.Name))
	if f.Doc != "" {
		p.Para(page.Normal, 0, f.Doc)
	}
	p.Blank()
	p.Hang(page.Normal, "    name        ", f.Kind+"#"+f.Name)
	p.Hang(page.Normal, "    type        ", typeText(f.Type))
	if f.From != "" {
		p.Hang(page.Normal, "    read from   ", f.From)
	}
	if f.Knob != nil {
		knob(p, f)
	}
	p.List(page.Normal, "    used by     ", users)
	return p.String()
}

func knob(p *page.Page, f *catalog.Fact) {
	k := f.Knob
	show := func(text string) string {
		if v, err := catalog.ParseValue(f, text); err == nil {
			return catalog.Show(f, v)
		}
		return text
	}
	if k.Removed != "" {
		p.Hang(page.Normal, "    removed     ", k.Removed)
	}
	if k.Ignored != nil {
		p.Hang(page.Normal, "    ignored     ", perFlavour(k.Ignored, "", func(s string) string { return s })+": a line with it in an option file does not prevent the start")
	}
	p.Hang(page.Normal, "    default     ", perFlavour(k.Default, "not listed", show))
	p.Hang(page.Normal, "    versions    ", perFlavour(k.Versions, "all", func(s string) string { return s }))
	if len(k.Values) > 0 {
		p.Hang(page.Normal, "    values      ", strings.Join(k.Values, ", "))
	}
	if k.Min != nil || k.Max != nil {
		p.Hang(page.Normal, "    range       ", bound(k.Min, show)+" to "+bound(k.Max, show))
	}
	p.Hang(page.Normal, "    a change    ", cmp.Or(picture.EffectText(k.Effect), "not known when it takes effect"))
	var means []string
	for _, value := range slices.Sorted(maps.Keys(k.Durability)) {
		means = append(means, value+": "+k.Durability[value])
	}
	p.List(page.Normal, "    durability  ", means)
	p.List(page.Normal, "    sources     ", k.Sources)
}

func bound(f *float64, show func(string) string) string {
	if f == nil {
		return "any"
	}
	return show(strconv.FormatFloat(*f, 'f', -1, 64))
}

// perFlavour writes what differs by flavour: "mysql 1, mariadb 0".
func perFlavour(m map[string]string, none string, show func(string) string) string {
	if len(m) == 0 {
		return none
	}
	var parts []string
	for _, flavour := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, strings.TrimSpace(flavour+" "+show(m[flavour])))
	}
	return strings.Join(parts, ", ")
}

func typeText(t catalog.Type) string {
	switch t {
	case catalog.Bytes:
		return "bytes"
	case catalog.Millis:
		return "milliseconds"
	case catalog.Micros:
		return "microseconds"
	case catalog.Seconds:
		return "seconds"
	case catalog.Percent:
		return "percent, 0 to 100"
	case catalog.Ratio:
		return "share, 0 to 1"
	case catalog.Rate:
		return "per second"
	}
	return string(t)
}
