package test

import (
	"bytes"
	"encoding/json"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"plumb/internal/catalog"
	"plumb/internal/host/hosttest"
	"plumb/internal/rule"
	checkview "plumb/internal/view/check"
	"plumb/internal/view/viewtest"
	"plumb/knowledge"
)

var (
	inSentence = regexp.MustCompile(`</?code>`)
	anyTag     = regexp.MustCompile(`<[^>]*>`)
)

// readable is what a reader sees of a piece of a page, on one line.
func readable(page string) string {
	text := anyTag.ReplaceAllString(inSentence.ReplaceAllString(page, ""), " ")
	return oneLine(html.UnescapeString(text))
}

func oneLine(s string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(s, "`", "")), " ")
}

// TestPageOfAllFixtures makes one page of all captured hosts, and looks in the
// report of each for all that its JSON has: what is out of line, what to do
// about it and what could not be seen.
func TestPageOfAllFixtures(t *testing.T) {
	file := filepath.Join(t.TempDir(), "all.html")
	documents := plumb(t, "check", "--tape", "../fixtures", "--json", "--html", file)
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	viewtest.AloneAndWhole(t, page)
	cat := hosttest.Catalog(t)
	reports := map[string]string{}
	for _, part := range strings.Split(string(page), `<details class="host"><summary>`)[1:] {
		name, _, _ := strings.Cut(strings.TrimPrefix(part, "<b>"), "</b>")
		reports[name] = readable(part)
	}
	n := 0
	for line := range bytes.Lines(documents) {
		var d checkview.CheckJSON
		if err := json.Unmarshal(line, &d); err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(d.Tape), ".tape.gz")
		t.Run(name, func(t *testing.T) { tellsAll(t, reports[name], d, cat) })
		n++
	}
	if n < 16 || n != len(reports) {
		t.Errorf("%d documents, %d reports", n, len(reports))
	}
}

func tellsAll(t *testing.T, text string, d checkview.CheckJSON, cat *catalog.Catalog) {
	want := func(what string) {
		if !strings.Contains(text, oneLine(what)) {
			t.Errorf("the page does not say %q", what)
		}
	}
	for _, s := range d.Servers {
		want(s.Ref.String())
		for _, role := range s.Roles {
			want(role.Path)
		}
	}
	for _, f := range d.Findings {
		want(f.Rule)
		r, err := rule.Read(knowledge.FS, cat, f.Rule)
		if err != nil {
			t.Fatal(err)
		}
		begin, _, _ := strings.Cut(r.Explain, "\n")
		want(begin)
		for _, s := range f.Sources {
			want(s)
		}
		for _, c := range f.Cases {
			want(c.Title)
			want(c.Say)
			for _, e := range c.Evidence {
				if !e.Value.IsAbsent() {
					want("= " + e.Shown)
					want(e.Source)
				}
			}
			for _, r := range c.Remedies {
				want(r.Do)
			}
		}
	}
	for _, s := range d.Plan.Steps {
		want("because " + s.Because + " " + strings.Join(s.Why, " "))
		want(s.Note)
	}
	for _, c := range d.Conflicts {
		want(c.Reason)
	}
	for _, f := range d.CheckAgain {
		want(f.Server.String() + ": ")
		want(strings.Join(f.Rules, " "))
	}
	for _, u := range d.Unknown {
		want(u.Hint)
		want(u.Why) // in full among what was not seen
		for _, r := range u.Rules {
			want(r)
		}
	}
	for _, g := range d.Gaps {
		want(g.Why)
		want(g.Hint)
	}
	want(d.Version)
	want("read on " + d.TakenAt.UTC().Format("2 January 2006 at 15:04") + " UTC")
}
