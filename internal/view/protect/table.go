package protect

import (
	"fmt"
	"strings"
	"time"

	"plumb/internal/protect/tables"
	"plumb/internal/view/page"
)

// TableJSON is version 1 of what rollback --table --json prints.
type TableJSON struct {
	Plumb      int           `json:"plumb"`
	Kind       string        `json:"kind"` // "rollback-table"
	DryRun     bool          `json:"dry_run"`
	Server     string        `json:"server"`
	Point      string        `json:"point"`
	Table      []string      `json:"table"`             // its database, for PostgreSQL its schema, and its name
	As         []string      `json:"as"`                // what it is called in the server
	Statements []string      `json:"statements"`        // typed to the server, or would be; rows are left out
	Content    string        `json:"content"`           // what the point has, summed up
	Notes      []string      `json:"notes"`             // what does not come along, and what else a person should know
	Change     int           `json:"change,omitempty"`  // its number in the journal, for plumb undo
	Took       time.Duration `json:"took_ns,omitempty"` // with the copy of the point
}

// TablePlanDocument is the document of a table that was not brought back.
func TablePlanDocument(p tables.Plan) TableJSON {
	return TableJSON{Plumb: 1, Kind: "rollback-table", DryRun: true, Server: p.Server.Ref.String(), Point: p.Point.ID, Table: page.NotNil(p.Table), As: page.NotNil(p.As),
		Statements: page.NotNil(p.Statements), Content: p.Content, Notes: page.NotNil(p.Notes)}
}

// TableDocument is the document of a table that was brought back.
func TableDocument(p tables.Plan, r tables.Result) TableJSON {
	doc := TablePlanDocument(p)
	doc.DryRun, doc.Change, doc.Took = false, r.Change, r.Took
	return doc
}

// TablePlan shows how a table would be brought back.
func TablePlan(p tables.Plan, screen page.Screen) string {
	out := page.NewPage(screen)
	out.Line(page.Bold, fmt.Sprintf("%s of point %s, into %s", p.Table, p.Point.ID, p.Server.Ref))
	rows(out, page.Normal, "as", p.As.String())
	rows(out, page.Normal, "content", p.Content)
	rows(out, page.Normal, "typed", typedLines(p.Statements)...)
	rows(out, page.Normal, "note", p.Notes...)
	out.Para(page.Dim, 0, "The server keeps running, and nothing else in it is changed. plumb undo removes the table.")
	return out.String()
}

// typedLines gives the lines of statements; those that are only remarks are left out.
func typedLines(statements []string) (lines []string) {
	for _, text := range statements {
		for line := range strings.Lines(text) {
			if plain := strings.TrimSpace(line); plain != "" && !strings.HasPrefix(plain, "--") {
				lines = append(lines, strings.TrimRight(line, "\n"))
			}
		}
	}
	return lines
}

// TableBack says what came of it.
func TableBack(p tables.Plan, r tables.Result, screen page.Screen) string {
	out := page.NewPage(screen)
	out.Para(page.Normal, 0, fmt.Sprintf("%s was restored in %s, and equals the table in the point: %s.", p.As, span(r.Took), p.Content))
	out.Para(page.Dim, 0, fmt.Sprintf("plumb undo %d removes it, as long as nobody has changed it.", r.Change))
	return out.String()
}
