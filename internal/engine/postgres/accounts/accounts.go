// Package accounts makes the first databases of a server, and the roles that own them. They have no password: who
// comes in as one is told by the kernel (peer), and pg_hba.conf stays as the packages made it. What it gives is done and
// taken back by package change.
package accounts

import (
	"context"
	"fmt"
	"slices"

	"plumb/internal/change"
	"plumb/internal/engine/postgres"
	"plumb/internal/host"
	"plumb/internal/provision/spec"
)

// Databases gives the acts that make those databases and roles that are not there. Names are those that package spec lets through.
func Databases(ctx context.Context, h host.Reader, t host.Target, want []spec.Database) (acts []change.Act, err error) {
	for _, d := range want {
		for _, s := range []*change.Switch{role(t, d.Owner), database(t, d)} {
			rows, err := h.Query(ctx, t, s.Inspect.Query)
			if err != nil {
				return nil, fmt.Errorf("see which databases and roles there are: %w", err)
			}
			if len(rows.Values) == 0 && !slices.ContainsFunc(acts, func(a change.Act) bool { return a.Switch.On == s.On }) {
				acts = append(acts, change.Act{Switch: s})
			}
		}
	}
	return acts, nil
}

const there = "there"

func role(t host.Target, name string) *change.Switch {
	op := func(statement string) []change.Op { return []change.Op{{Target: &t, Statement: statement}} }
	return &change.Switch{On: t.Name + " role " + name, Exact: true, From: change.None, After: there,
		Inspect: change.Inspection{Target: &t, Query: "SELECT '" + there + "' FROM pg_roles WHERE rolname = '" + name + "'"},
		Do:      op(`CREATE ROLE "` + name + `" LOGIN`),
		Undo:    op(`DROP ROLE IF EXISTS "` + name + `"`)} // which the server refuses while it owns anything
}

// FirstNormalObjectId, in src/include/access/transam.h: what has a smaller number came with the server.
const holds = "SELECT current_database() || ' ' || ((SELECT count(*) FROM pg_class WHERE oid >= 16384) + (SELECT count(*) FROM pg_proc WHERE oid >= 16384)" +
	" + (SELECT count(*) FROM pg_namespace WHERE oid >= 16384 AND nspname !~ '^pg_(toast_)?temp_') + (SELECT count(*) FROM pg_largeobject_metadata))"

// database makes one, and removes it only while nothing is in it. That is asked in the database itself, on a session
// of its own: one that stayed open would keep the database from being removed. A data source name may lead to another
// database, so the answer has the name of the one that was asked.
func database(t host.Target, d spec.Database) *change.Switch {
	in := postgres.In(t, d.Name)
	op := func(statement string) []change.Op { return []change.Op{{Target: &t, Statement: statement}} }
	return &change.Switch{On: t.Name + " database " + d.Name, Exact: true, From: change.None, After: there,
		Inspect: change.Inspection{Target: &t, Query: "SELECT '" + there + "' FROM pg_database WHERE datname = '" + d.Name + "'"},
		Do:      op(`CREATE DATABASE "` + d.Name + `" OWNER "` + d.Owner + `"`),
		Undo:    op(`DROP DATABASE IF EXISTS "` + d.Name + `"`),
		Still:   &change.Still{Inspect: change.Inspection{Target: &in, Query: holds, Long: true}, State: d.Name + " 0", Hint: "save and drop what is in the database first, or keep it"}}
}

// Trusting lists the lines of pg_hba.conf by which somebody comes in without a password and unknown to the kernel.
func Trusting(ctx context.Context, h host.Reader, t host.Target) (lines []string, err error) {
	rows, err := h.Query(ctx, t, "SELECT line_number FROM pg_hba_file_rules WHERE auth_method = 'trust' ORDER BY line_number")
	if err != nil {
		return nil, fmt.Errorf("see who comes in without a password: %w", err)
	}
	for _, row := range rows.Values {
		lines = append(lines, host.Text(row, 0))
	}
	return lines, nil
}
