package metrics

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"plumb/internal/series"
	"plumb/internal/stack"
)

// Two sources count the statements of a PostgreSQL: one often, and one now and then with the texts. What is shown
// is as the later of them has it: a counter that falls would be taken for one that began anew.
func TestStatementsThatTwoSourcesCount(t *testing.T) {
	e, c := madeExporter(t, Options{Statements: 5})
	pg := stack.Ref{Kind: "postgres", Name: "5432"}
	look := func(source string, every time.Duration, text string, calls float64) {
		e.Batch(series.Batch{Source: source, Every: every, At: c.at, Statements: []series.Statement{
			{Of: pg, Database: "shop", ID: "1/10/5", Text: text, Calls: calls, Seconds: calls}}})
	}
	const calls, info = "plumb_statement_calls_total database=shop server=postgres:5432 statement=1/10/5", `text="SELECT $1"`
	last := 0.0
	for i := range 40 {
		c.pass(10 * time.Second)
		look("postgres:5432 statements", 10*time.Second, "", float64(10*i+1))
		if i%6 == 0 {
			look("postgres:5432 texts", time.Minute, "SELECT $1", float64(10*i+2))
		}
		page := pageOf(t, e)
		n := parsed(t, page)[calls]
		if n < last || n < float64(10*i+1) || !strings.Contains(page, info) {
			t.Fatalf("look %d: %v calls after %v, with its text: %v", i, n, last, strings.Contains(page, info))
		}
		last = n
	}
	c.pass(time.Minute) // the later look is too old, and the older one is not shown in its place
	if page := pageOf(t, e); strings.Contains(page, "plumb_statement_calls_total") {
		t.Error("what is late is still shown")
	}
}

// What Plumb itself asks of a server is not among the statements of its clients.
func TestOwnStatementsAreNotShown(t *testing.T) {
	e, c := madeExporter(t, Options{Statements: 2})
	b := series.Batch{Source: "mysql:3306 statements", Every: 10 * time.Second, At: c.at.Add(time.Second)}
	for i, text := range []string{series.OwnMark + "SHOW GLOBAL STATUS", "SELECT ?", "UPDATE t", "DELETE"} {
		b.Statements = append(b.Statements, series.Statement{Of: db, ID: fmt.Sprint("d", i), Text: text, Calls: 1, Seconds: 9 - float64(i)})
	}
	c.pass(time.Second)
	e.Batch(b)
	page := pageOf(t, e)
	for id, want := range map[string]bool{"d0": false, "d1": true, "d2": true, "d3": false} {
		if got := strings.Contains(page, `statement="`+id+`"`); got != want {
			t.Errorf("%s is shown: %v", id, got)
		}
	}
}
