package check

import (
	"slices"
	"strings"

	"plumb/internal/advise"
	"plumb/internal/catalog"
	"plumb/internal/rule"
	"plumb/internal/view/picture"
)

// findingHTML is one finding, with all its places.
type findingHTML struct {
	Number      int
	Title, Rule string
	First       caseHTML
	Others      []caseHTML
	More        int      // places beyond those
	Explain     []para   // the mechanism
	Basis       string   // what it rests on, and for which versions it holds
	Quote, From string   // what decides, in its source's words
	Sources     []string // addresses, as text: the page links to nothing
}

// caseHTML is one place where a rule fired.
type caseHTML struct {
	Where, Title, Say string
	Evidence          []evidenceHTML
	Remedies          []remedyHTML
	Also              []advise.Also
}

// evidenceHTML is one fact that decided.
type evidenceHTML struct {
	Of, Name, Value string
	SetBy           string // its origin; "" for what nobody sets
	Next            string // what the next start brings, when that differs
	Source          string // where it was read
}

type remedyHTML struct {
	Do       string   // a text, or a setting
	Notes    []string // of a setting: when it takes effect, what it costs
	Setting  bool
	Withheld string // why it is not proposed
}

// para is a paragraph, an item of a list or lines as they stand.
type para struct{ Text, Item, Lines string }

// maxPlaces is how many places of one finding are shown in full.
const maxPlaces = 50

func (c CheckPage) findingHTML(f advise.Finding, explain string) findingHTML {
	first := f.Cases[0]
	h := findingHTML{Number: f.Number, Title: first.Title, Rule: f.Rule.ID, First: c.caseHTML(first, first), Explain: paragraphs(explain),
		Basis: "basis: " + string(f.Rule.Basis), Quote: f.Rule.Quote.Says, From: f.Rule.Quote.From, Sources: f.Rule.Sources}
	if f.Rule.Versions != "" {
		h.Basis += " · versions: " + f.Rule.Versions
	}
	for i, k := range f.Cases[1:] {
		if i == maxPlaces {
			h.More = len(f.Cases) - 1 - i
			break
		}
		h.Others = append(h.Others, c.caseHTML(k, first))
	}
	return h
}

func (c CheckPage) caseHTML(k, first advise.Case) caseHTML {
	h := caseHTML{Where: c.placeOf(k, first), Title: k.Title, Say: k.Say, Also: k.Also}
	for _, e := range k.Evidence {
		if !e.Fact.Value.IsAbsent() {
			h.Evidence = append(h.Evidence, c.evidenceHTML(e))
		}
	}
	for _, r := range k.Remedies {
		h.Remedies = append(h.Remedies, c.remedyHTML(r))
	}
	return h
}

func (c CheckPage) evidenceHTML(e rule.Evidence) evidenceHTML {
	show := func(f string) string { return c.Name(e.Of.Kind, f) }
	h := evidenceHTML{Of: picture.ThingName(c.r.Stack, e.Of), Name: show(e.Name), Value: c.Show(e.Of.Kind, e.Name, e.Fact.Value), Source: e.Fact.Source}
	if e.Fact.Origin != nil {
		h.SetBy = OriginText(*e.Fact.Origin)
	}
	if n := e.Fact.Next; n != nil {
		h.Next = "after the next start " + c.Show(e.Of.Kind, e.Name, n.Value) + " (" + OriginText(n.Origin) + ")"
	}
	return h
}

func (c CheckPage) remedyHTML(r advise.Remedy) remedyHTML {
	if !r.IsStep() {
		return remedyHTML{Do: r.Do}
	}
	h := remedyHTML{Do: c.setting(r.Step), Setting: true, Withheld: r.Withheld}
	if r.Withheld == "" {
		h.Notes = stepNotes(r.Step)
	}
	return h
}

// stepNotes say when a step takes effect, and what is to be known of it.
func stepNotes(s advise.Step) []string {
	notes := []string{whenText(s)}
	if s.DurabilityFrom != s.DurabilityTo && s.DurabilityTo == catalog.Safe {
		notes = append(notes, "safer")
	}
	return slices.DeleteFunc(append(notes, s.Note), func(n string) bool { return n == "" })
}

// paragraphs reads the text of a rule: lines that are indented stand as they
// are, and a dash begins an item.
func paragraphs(text string) []para {
	var out []para
	fresh := true
	for l := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		trimmed := strings.TrimSpace(l)
		last := len(out) - 1
		switch {
		case trimmed == "":
			fresh = true
			continue
		case strings.HasPrefix(l, "  ") && last >= 0 && out[last].Item != "" && !fresh:
			out[last].Item += " " + trimmed
		case strings.HasPrefix(l, "  ") && last >= 0 && out[last].Lines != "" && !fresh:
			out[last].Lines += "\n" + l
		case strings.HasPrefix(l, "  "):
			out = append(out, para{Lines: l})
		case strings.HasPrefix(trimmed, "- "), strings.HasPrefix(trimmed, "* "):
			out = append(out, para{Item: trimmed[2:]})
		case last >= 0 && out[last].Text != "" && !fresh:
			out[last].Text += " " + trimmed
		case last >= 0 && out[last].Item != "" && !fresh:
			out[last].Item += " " + trimmed
		default:
			out = append(out, para{Text: trimmed})
		}
		fresh = false
	}
	return out
}

// adviceHTML is what a finding asks for beside the plan.
type adviceHTML struct {
	Number int
	Text   string
	Why    string // why it is not in the plan; "" for what is not a setting
}

// byHand lists what the findings ask for and the plan does not have, each once.
func (c CheckPage) byHand() []adviceHTML {
	var out []adviceHTML
	for _, f := range c.r.Advice.Findings {
		for _, k := range f.Cases {
			for _, r := range k.Remedies {
				a := adviceHTML{Number: f.Number, Text: r.Do, Why: r.Withheld}
				if r.IsStep() && r.Withheld == "" {
					continue
				}
				if r.IsStep() {
					a.Text = c.setting(r.Step)
				}
				if !slices.Contains(out, a) {
					out = append(out, a)
				}
			}
		}
	}
	return out
}
