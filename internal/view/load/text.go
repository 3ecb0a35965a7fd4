package load

import (
	"fmt"
	"slices"
	"strings"

	"plumb/internal/load"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// Report is a run of plumb load with what a reader must know of it.
type Report struct {
	Version  string      // of the program
	Server   *load.About // nil where no server is involved
	Place    string      // of the files, where no server is involved
	Options  []Option    // what decides the work, as it was in force
	Warnings []string    // what the options mean that is easily overlooked
	Result   *load.Result
	Audit    []Band   // of a specification; empty where there is none
	Remarks  []Remark // on the result, below the figures
	Headline string   // the workload's own figure, such as new orders a minute; "" for none
}

// Remark is a sentence with a short label before it.
type Remark struct{ Label, Text string }

// Option is one option as it was in force, under the name of its flag.
type Option struct{ Name, Value string }

// Band is a share or mean that a specification bounds.
type Band struct {
	Name      string
	Low, High float64
	Value     float64
	N         int64  // it rests on
	Unit      string // "%" or ""
	Verdict   string // "pass", "fail", "too few to tell"
}

// Text shows what a run measured, on one screen.
func Text(r Report, screen page.Screen) string {
	p := page.NewPage(screen)
	res := r.Result
	loadHead(p, r)
	marks(p, res.Marks)
	p.Blank()
	if r.Headline != "" {
		p.Para(page.Bold, 0, r.Headline)
		p.Blank()
	}
	opTables(p, res)
	work(p, res)
	failures(p, res)
	bands(p, r.Audit)
	p.Blank()
	loadFoot(p, res)
	for _, m := range r.Remarks {
		p.Hang(page.Normal, page.Columns(m.Label, 10), m.Text)
	}
	return p.String()
}

// durable names the settings that a reader must know to judge a number; the
// others are in JSON.
func durable() []string {
	return []string{"innodb_flush_log_at_trx_commit", "sync_binlog", "log_bin", "innodb_doublewrite", "innodb_buffer_pool_size",
		"fsync", "synchronous_commit", "full_page_writes", "wal_level", "shared_buffers", "max_wal_size"}
}

func loadHead(p *page.Page, r Report) {
	res := r.Result
	title := []string{res.Workload}
	if r.Server != nil {
		title = append(title, serverTitle(*r.Server)...)
	}
	if r.Place != "" {
		title = append(title, r.Place)
	}
	p.Para(page.Bold, 0, strings.Join(title, " · "))
	p.Hang(page.Normal, "  work    ", optionsText(r.Options))
	for _, w := range r.Warnings {
		p.Hang(page.Dim, "          ", w)
	}
	pace := []string{units.Count(res.Threads, "thread"), res.Pace, fmt.Sprintf("seed %d", res.Seed), "measured " + units.Span(res.Measured)}
	if res.Warmup > 0 {
		pace = append(pace, "after a warm-up of "+units.Span(res.Warmup))
	}
	p.Hang(page.Normal, "  pace    ", strings.Join(pace, " · "))
	if r.Server != nil {
		p.Hang(page.Normal, "  server  ", serverState(*r.Server))
	}
}

func serverTitle(a load.About) []string {
	t := []string{strings.TrimSpace(a.Product + " " + a.Version), a.Address}
	if a.Database != "" {
		t = append(t, "database "+a.Database)
	}
	return t
}

func optionsText(options []Option) string {
	var list []string
	for _, o := range options {
		if o.Name == "" { // a remark of its own
			list = append(list, o.Value)
			continue
		}
		list = append(list, o.Name+" "+o.Value)
	}
	return strings.Join(list, " · ")
}

// serverState is isolation and what decides durability and memory.
func serverState(a load.About) string {
	var list []string
	if a.Isolation != "" {
		list = append(list, a.Isolation)
	}
	for _, s := range a.Settings {
		if slices.Contains(durable(), s.Name) {
			list = append(list, s.Name+" "+shownSetting(s))
		}
	}
	if !a.Local {
		list = append(list, "on another machine")
	}
	return strings.Join(list, " · ")
}

// marks says first what is wrong with a result.
func marks(p *page.Page, marks []load.Mark) {
	if len(marks) == 0 {
		return
	}
	p.Blank()
	p.Line(page.Yellow, "Reasons to doubt this result:")
	for _, m := range marks {
		p.Hang(page.Normal, "  · ", m.Text)
	}
}

// loadFoot says how steady the run was and what it cost the generator.
func loadFoot(p *page.Page, res *load.Result) {
	s := res.Steady
	switch {
	case s.Reached:
		p.Hang(page.Normal, "steady    ", fmt.Sprintf("from %s on; the last window ranged over %s of its mean, with a trend of %s",
			units.Span(s.From), units.Percent(s.Range), units.Percent(s.Slope)))
	case s.Why != "" && !marked(res, load.MarkNotSteady):
		p.Hang(page.Normal, "steady    ", "not known: "+s.Why)
	}
	for _, w := range res.Rate.Warnings {
		p.Hang(page.Dim, "          ", w)
	}
	c := res.Client
	text := fmt.Sprintf("%s of %s", units.Percent(c.Share), units.Count(c.Cores, "processor"))
	if c.PerOp > 0 {
		text += " · " + units.Latency(c.PerOp) + " of CPU for each operation"
	}
	if c.Machine != nil {
		text += " · the machine was " + units.Percent(*c.Machine) + " busy"
	}
	p.Hang(page.Normal, "generator ", text)
}

func marked(res *load.Result, kind string) bool {
	return slices.ContainsFunc(res.Marks, func(m load.Mark) bool { return m.Kind == kind })
}
