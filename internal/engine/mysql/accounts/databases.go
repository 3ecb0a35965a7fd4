package accounts

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/product"
	"plumb/internal/provision/spec"
)

// strange counts databases that somebody has made, and tables in the one that packages make for everybody.
const strange = "SELECT (SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys', 'test'))" +
	" + (SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'test')"

// Fresh tells whether nobody has data in a server yet. Of one that is used, the accounts are its owner's affair:
// who would be locked out by closing one is not to be seen.
func Fresh(ctx context.Context, h host.Reader, t host.Target) (bool, error) {
	rows, err := h.Query(ctx, t, strange)
	if err != nil {
		return false, fmt.Errorf("see whether the server holds data: %w", err)
	}
	return len(rows.Values) == 1 && host.Text(rows.Values[0], 0) == "0", nil
}

// Databases gives the acts that make those databases that are not there, and let their owners in by the socket. An owner
// who has an account already comes in as before.
func Databases(ctx context.Context, h host.Reader, t host.Target, flavor string, want []spec.Database) (acts []change.Act, err error) {
	if len(want) == 0 {
		return nil, nil
	}
	l := look{ctx: ctx, h: h, t: t, mariadb: flavor == product.MariaDB}
	for _, d := range want {
		for _, s := range []*change.Switch{l.database(d), l.owner(d.Owner), l.rights(d)} {
			is, err := l.texts(s.Inspect.Query)
			if err != nil {
				return nil, err
			}
			if !slices.Equal(is, []string{s.After}) && !slices.ContainsFunc(acts, func(a change.Act) bool { return a.Switch.On == s.On }) {
				acts = append(acts, change.Act{Switch: s})
			}
		}
	}
	return acts, l.vouched(acts)
}

// vouched refuses to make accounts for which the kernel cannot vouch. Who has one already needs no plugin.
func (l look) vouched(acts []change.Act) error {
	if !slices.ContainsFunc(acts, func(a change.Act) bool { return strings.HasPrefix(a.Switch.Do[0].Statement, "CREATE USER ") }) {
		return nil
	}
	_, err := l.socket("an owner of a database is to come in")
	return err
}

const there = "there"

var underscore = strings.NewReplacer("_", `\_`)

// database makes one, and removes it only while nothing is in it. Names are those that package spec lets through.
func (l look) database(d spec.Database) *change.Switch {
	in := func(table, column string) string {
		return "(SELECT COUNT(*) FROM information_schema." + table + " WHERE " + column + " = '" + d.Name + "')"
	}
	return &change.Switch{On: l.t.Name + " database " + d.Name, Exact: true, From: change.None, After: there,
		Inspect: l.asked("SELECT '" + there + "' FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = '" + d.Name + "'"),
		Do:      []change.Op{l.op("CREATE DATABASE IF NOT EXISTS `" + d.Name + "`")},
		Undo:    []change.Op{l.op("DROP DATABASE IF EXISTS `" + d.Name + "`")},
		Still: &change.Still{State: "0", Hint: "save and drop what is in the database first, or keep it",
			Inspect: l.asked("SELECT " + in("TABLES", "TABLE_SCHEMA") + " + " + in("ROUTINES", "ROUTINE_SCHEMA") + " + " + in("EVENTS", "EVENT_SCHEMA"))}}
}

// owner makes an account that the kernel vouches for.
func (l look) owner(name string) *change.Switch {
	a := account{user: name, host: "localhost"}
	return &change.Switch{On: l.t.Name + " account " + a.name(), Exact: true, From: change.None, After: there,
		Inspect: l.asked("SELECT '" + there + "' FROM mysql.user WHERE User = '" + a.user + "' AND Host = '" + a.host + "'"),
		Do:      []change.Op{l.op("CREATE USER IF NOT EXISTS " + a.name() + " IDENTIFIED " + l.vouchedBy())},
		Undo:    []change.Op{l.op("DROP USER IF EXISTS " + a.name())}}
}

// rights are all that an owner may do, in the database alone. In a grant, _ stands for any character unless it is escaped.
func (l look) rights(d spec.Database) *change.Switch {
	a, escaped := account{user: d.Owner, host: "localhost"}, "`"+underscore.Replace(d.Name)+"`.*"
	return &change.Switch{On: l.t.Name + " rights of " + a.name() + " in " + d.Name, Exact: true, From: change.None, After: "all",
		Inspect: l.asked("SELECT 'all' FROM mysql.db WHERE User = '" + a.user + "' AND Host = '" + a.host + "' AND Db = REPLACE('" + d.Name + "', '_', CONCAT(CHAR(92), '_')) AND Drop_priv = 'Y'"),
		Do:      []change.Op{l.op("GRANT ALL PRIVILEGES ON " + escaped + " TO " + a.name())},
		Undo:    []change.Op{l.op("REVOKE ALL PRIVILEGES ON " + escaped + " FROM " + a.name())}}
}
