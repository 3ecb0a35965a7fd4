package point

import (
	"context"
	"fmt"
	"slices"
	"strings"

	engine "plumb/internal/engine/mysql"
	"plumb/internal/host"
	"plumb/internal/host/paths"
	"plumb/internal/load"
	"plumb/internal/protect"
	"plumb/internal/units"
)

// wrongMost is how many tables are named that something is wrong with.
const wrongMost = 5

// Check implements protect.Starter. A quick check reads the first row of every table, and
// checks those of engines without a log; a full one reads all rows and indexes.
func (*Engine) Check(ctx context.Context, a load.Admin, c protect.Copy, full bool) ([]protect.Check, error) {
	rows, err := a.Query(ctx, "SELECT TABLE_SCHEMA, TABLE_NAME, ENGINE FROM information_schema.TABLES WHERE TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED', 'SEQUENCE') "+
		"AND TABLE_SCHEMA NOT IN ('information_schema', 'performance_schema') ORDER BY 1, 2")
	if err != nil {
		return nil, fmt.Errorf("check the copy of %s: %w", c.Server.Ref, err)
	}
	opened, checked := &verdict{}, &verdict{}
	for _, row := range rows.Values {
		name := engine.Identifier(host.Text(row, 0)) + "." + engine.Identifier(host.Text(row, 1))
		switch kind := host.Text(row, 2); {
		case kind == "":
			opened.of(name, "it cannot be opened")
		case full && kind != "CSV":
			checked.of(name, checkTable(ctx, a, name, "EXTENDED"))
		case kind == "MyISAM", kind == "Aria", kind == "ARCHIVE":
			checked.of(name, checkTable(ctx, a, name, "QUICK"))
		case kind != "FEDERATED" && kind != "SPIDER" && kind != "CONNECT": // these would ask other servers
			_, err := a.Query(ctx, "SELECT 1 FROM "+name+" LIMIT 1")
			opened.of(name, said(err))
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("check the copy of %s: %w", c.Server.Ref, ctx.Err())
		}
	}
	var out []protect.Check
	for what, v := range map[string]*verdict{"CHECK TABLE of ": checked, "the first row of ": opened} {
		if v.n > 0 {
			out = append(out, v.check(what))
		}
	}
	slices.SortFunc(out, func(a, b protect.Check) int { return strings.Compare(a.What, b.What) })
	outside, err := strays(ctx, a, c)
	if err != nil {
		return nil, fmt.Errorf("check the copy of %s: %w", c.Server.Ref, err)
	}
	return append(out, outside), nil
}

// verdict is what came of looking at tables in one way.
type verdict struct {
	n     int
	wrong []string
}

func (v *verdict) of(name, wrong string) {
	v.n++
	if wrong != "" {
		v.wrong = append(v.wrong, strings.ReplaceAll(name, "`", "")+": "+plain(wrong))
	}
}

func (v *verdict) check(what string) protect.Check {
	c := protect.Check{What: what + units.Count(v.n, "table")}
	if len(v.wrong) > 0 {
		c.Wrong = strings.Join(v.wrong[:min(len(v.wrong), wrongMost)], "; ")
		if more := len(v.wrong) - wrongMost; more > 0 {
			c.Wrong += fmt.Sprintf("; and %d more", more)
		}
	}
	return c
}

func said(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// checkTable gives what CHECK TABLE says that is not "OK".
func checkTable(ctx context.Context, a load.Admin, name, how string) string {
	rows, err := a.Query(ctx, "CHECK TABLE "+name+" "+how)
	if err != nil {
		return err.Error()
	}
	for _, row := range rows.Values {
		kind, text := host.Text(row, 2), host.Text(row, 3)
		if strings.EqualFold(kind, "error") || strings.EqualFold(kind, "warning") && !strings.Contains(text, "clients are using") || kind == "status" && text != "OK" && !strings.Contains(text, "already up to date") {
			return text
		}
	}
	return ""
}

// strays looks whether the copy has files open that are not its own.
func strays(ctx context.Context, a load.Admin, c protect.Copy) (protect.Check, error) {
	q := engine.Elsewhere(isMariaDB(c.Server), c.Server.Version)
	if !isMariaDB(c.Server) && since(c.Server, "8.0") {
		// Of the system tablespace the dictionary keeps where the source had it; that the copy
		// uses its own is in its configuration.
		q += " AND CAST(SPACE AS UNSIGNED) <> 0"
	}
	out := protect.Check{What: "all tablespaces lie in the copy"}
	rows, err := a.Query(ctx, q)
	if err != nil {
		return out, err
	}
	for _, row := range rows.Values {
		if at := host.Text(row, 0); !paths.Within(at, c.Root) && !paths.Within(at, c.Run) {
			out.Wrong = at + " is not one of the copy's"
		}
	}
	return out, nil
}
