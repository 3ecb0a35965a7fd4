package watch

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/units"
	"plumb/internal/watch"
)

func boardSession(of watch.Server, x series.Session) BoardSession {
	out := BoardSession{Server: Plain(of.Ref.String()), ID: strconv.FormatInt(x.ID, 10), User: Plain(x.User), Client: Plain(x.Client), Database: Plain(x.Database),
		Does: Plain(string(x.Class)), Wait: Plain(x.Wait), For: units.Short(x.For.Round(time.Second)), Text: Plain(textOf(of, x))}
	if !x.Active {
		out.Does = "idle"
	}
	if !x.Active && x.InTx > 0 {
		out.Does = "idle in tx"
	}
	if x.InTx > 0 {
		out.InTx = units.Short(x.InTx.Round(time.Second))
	}
	out.WaitsFor = waitsFor(x)
	if out.Text == "" && x.Statement != "" {
		out.Text = Plain("statement " + x.Statement)
	}
	return out
}

// textOf is what a session runs. Some servers tell only a number of it, by which it
// stands among the statements once one like it has ended.
func textOf(of watch.Server, x series.Session) string {
	if x.Text != "" || x.Statement == "" {
		return x.Text
	}
	i := slices.IndexFunc(of.Statements, func(s watch.StatementChange) bool { return s.ID == x.Statement })
	if i < 0 {
		return ""
	}
	return of.Statements[i].Text
}

// waitsFor lists the sessions that hold up another.
func waitsFor(x series.Session) string {
	var by []string
	for _, id := range x.BlockedBy {
		by = append(by, strconv.FormatInt(id, 10))
	}
	return strings.Join(by, ", ")
}

// boardStatements are those of a server that come behind so many of others.
func boardStatements(of watch.Server, behind int) []BoardStatement {
	out := each(of.Statements, func(x watch.StatementChange) BoardStatement { return boardStatement(of.Ref, x) })
	for _, by := range watch.AllOrders {
		for i, place := range by.Places(of.Statements) {
			out[i].Places[by] = behind + place
		}
	}
	return out
}

func boardStatement(server stack.Ref, x watch.StatementChange) BoardStatement {
	out := BoardStatement{Server: Plain(server.String()), Database: Plain(x.Database), Share: units.Percent(x.Share), Calls: units.Grouped(int64(x.Calls)), Each: "–",
		Touched: touched(x), Rows: rowsOf(x), Bytes: "–", Text: Plain(statementName(x)), Places: map[watch.Order]int{}}
	if x.Bytes != nil {
		out.Bytes = units.Measured(*x.Bytes)
	}
	out.Over = lasted(x.Over)
	if x.Calls > 0 {
		out.Each = units.Milliseconds(1000 * x.Seconds / x.Calls)
	}
	if x.SlowerCalls != nil && x.MoreCalls != nil {
		out.Change = shift(*x.SlowerCalls, *x.MoreCalls)
	}
	if x.HasPlan() {
		out.ID, out.Key = x.ID, keyOf(out.Server, x.ID)
	}
	return out
}

// keyOf names a statement in an address.
func keyOf(server, id string) string {
	sum := sha256.Sum256([]byte(server + "\x00" + id))
	return hex.EncodeToString(sum[:12])
}

// lasted says which of the last times a statement's numbers are of. Looks are some seconds apart, so that a minute is one nearly.
func lasted(d time.Duration) string {
	if d >= 50*time.Second && d <= 70*time.Second {
		return "minute"
	}
	return units.Span(d.Round(time.Second))
}

// touched says how much a statement looked at, in what the server counts.
func touched(x watch.StatementChange) string {
	var parts []string
	if x.Bytes != nil {
		parts = append(parts, units.Measured(*x.Bytes)+" touched")
	}
	switch {
	case x.Examined != nil && x.Returned != nil:
		parts = append(parts, rows(*x.Examined)+" rows examined", rows(*x.Returned)+" returned")
	case x.Examined != nil:
		parts = append(parts, rows(*x.Examined)+" rows examined")
	case x.Returned != nil:
		parts = append(parts, rows(*x.Returned)+" rows returned")
	}
	return strings.Join(parts, ", ")
}

func rows(n float64) string { return units.Grouped(int64(math.Round(n))) }

// rowsOf are the rows by which a statement is listed, and which these are.
func rowsOf(x watch.StatementChange) string {
	switch {
	case x.Examined != nil:
		return rows(*x.Examined) + " examined"
	case x.Returned != nil:
		return rows(*x.Returned) + " returned"
	}
	return "–"
}

// shift says by what a statement costs more or less than in the minute before, or when it is compared with,
// the larger part first.
func shift(slower, more float64) string {
	parts := []string{part(slower, "slower", "faster"), part(more, "more calls", "fewer calls")}
	if math.Abs(more) > math.Abs(slower) {
		parts[0], parts[1] = parts[1], parts[0]
	}
	return strings.Trim(strings.Join(parts, ", "), ", ")
}

func part(seconds float64, up, down string) string {
	switch {
	case seconds >= 0.1:
		return "+" + units.Digits3(seconds) + " s " + up
	case seconds <= -0.1:
		return "−" + units.Digits3(-seconds) + " s " + down
	}
	return ""
}
