// Package accounts closes the ways into a new server that need no password: nobody without a
// name, root by the socket alone; and makes databases, whose owners come in by the socket too.
// What it gives is done and taken back by package change.
package accounts

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/product"
)

// account is one that can be entered without a password.
type account struct{ user, host, plugin string }

// Recipe says what closes them. flavor is of package product. It only reads.
func Recipe(ctx context.Context, h host.Reader, t host.Target, flavor string) (r change.Recipe, err error) {
	l := look{ctx: ctx, h: h, t: t, mariadb: flavor == product.MariaDB}
	open, err := l.open()
	if err == nil {
		err = l.ownLogin(open)
	}
	if err != nil {
		return r, err
	}
	r.Effect, r.Lasts = catalog.Now, "the server's own tables"
	for _, a := range open {
		act, err := l.close(a)
		if err != nil {
			return r, err
		}
		r.Acts = append(r.Acts, act)
	}
	return r, nil
}

// look is one server.
type look struct {
	ctx     context.Context
	h       host.Reader
	t       host.Target
	mariadb bool
}

// open lists the accounts without a password. Roles are none, and who is locked cannot come in.
func (l look) open() (all []account, err error) {
	query := "SELECT User, Host, plugin FROM mysql.user WHERE account_locked = 'N' AND (User = '' OR authentication_string = '' AND plugin IN ('mysql_native_password', 'caching_sha2_password', 'sha256_password')) ORDER BY User, Host"
	if l.mariadb {
		query = "SELECT User, Host, plugin FROM mysql.user WHERE is_role = 'N' AND (User = '' OR authentication_string = '' AND Password = '' AND plugin IN ('', 'mysql_native_password'))" +
			" AND CONCAT(User, '@', Host) NOT IN (SELECT CONCAT(User, '@', Host) FROM mysql.global_priv WHERE JSON_VALUE(Priv, '$.account_locked') = 1) ORDER BY User, Host"
	}
	rows, err := l.h.Query(l.ctx, l.t, query)
	if err != nil {
		return nil, fmt.Errorf("see who comes in without a password: %w", err)
	}
	for _, row := range rows.Values {
		a := account{host.Text(row, 0), host.Text(row, 1), host.Text(row, 2)}
		if !plain.MatchString(a.user) || !plain.MatchString(a.host) {
			return nil, &change.Refusal{Why: fmt.Sprintf("the account %q@%q has a name with unusual characters", a.user, a.host), What: "look at it yourself"}
		}
		all = append(all, a)
	}
	return all, nil
}

// ownLogin refuses to close the account that Plumb itself comes in with, unless root is let in by the socket.
func (l look) ownLogin(open []account) error {
	rows, err := l.texts("SELECT CURRENT_USER()")
	if err != nil {
		return err
	}
	if len(rows) != 1 {
		return fmt.Errorf("read as which user Plumb is logged in: the server gives %d answers, but one is expected", len(rows))
	}
	for _, a := range open {
		if a.user+"@"+a.host == rows[0] && (a.user != "root" || a.host != "localhost" || l.t.Network != "unix") {
			return &change.Refusal{Why: fmt.Sprintf("the account %s has no password, and Plumb logs in with it: if it were closed, Plumb could not undo that", a.name()),
				What: "let Plumb come in over the socket as root: run it as root, without --dsn"}
		}
	}
	return nil
}

// plain is what names of accounts may hold, so that they can be written into statements.
var plain = regexp.MustCompile(`^[A-Za-z0-9_.:%/-]*$`)

func (a account) name() string { return "'" + a.user + "'@'" + a.host + "'" }

// close is the act for one account.
func (l look) close(a account) (change.Act, error) {
	switch {
	case a.user == "":
		return l.drop(a)
	case a.user == "root" && a.host == "localhost":
		return l.bySocket(a)
	}
	return l.lock(a), nil
}

// op is a statement to the server.
func (l look) op(statement string) change.Op { return change.Op{Target: &l.t, Statement: statement} }

// drop removes an account without a name: locked, it would still stand before accounts with one.
func (l look) drop(a account) (change.Act, error) {
	back, err := l.texts("SHOW CREATE USER " + a.name())
	if err != nil {
		return change.Act{}, err
	}
	grants, err := l.texts("SHOW GRANTS FOR " + a.name())
	if err != nil {
		return change.Act{}, err
	}
	var undo []change.Op
	for _, s := range append(back, grants...) {
		undo = append(undo, l.op(strings.Replace(s, "CREATE USER ", "CREATE USER IF NOT EXISTS ", 1)))
	}
	return change.Act{Switch: &change.Switch{On: l.t.Name + " account " + a.name(), Exact: true, After: change.None,
		Inspect: l.asked("SELECT 'there' FROM mysql.user WHERE User = '" + a.user + "' AND Host = '" + a.host + "'"),
		Do:      []change.Op{l.op("DROP USER IF EXISTS " + a.name())}, Undo: undo}}, nil
}

// texts gives the first column of an answer.
func (l look) texts(query string) (all []string, err error) {
	rows, err := l.h.Query(l.ctx, l.t, query)
	if err != nil {
		return nil, fmt.Errorf("see which accounts there are, and what they may do: %w", err)
	}
	for _, row := range rows.Values {
		all = append(all, host.Text(row, 0))
	}
	return all, nil
}

func (l look) asked(query string) change.Inspection {
	return change.Inspection{Target: &l.t, Query: query}
}

// bySocket lets in whom the kernel names root, and nobody else as root.
func (l look) bySocket(a account) (change.Act, error) {
	back := "IDENTIFIED WITH " + a.plugin + " BY ''"
	if l.mariadb {
		back = "IDENTIFIED VIA mysql_native_password USING ''"
	}
	socket, err := l.socket("root comes in without a password")
	if err != nil {
		return change.Act{}, err
	}
	return change.Act{Switch: &change.Switch{On: l.t.Name + " login of " + a.name(), After: l.plugin(),
		Inspect: l.asked("SELECT IF(plugin = '', 'mysql_native_password', plugin) FROM mysql.user WHERE User = '" + a.user + "' AND Host = '" + a.host + "'"),
		Do:      []change.Op{l.op("ALTER USER " + a.name() + " IDENTIFIED " + socket)},
		Undo:    []change.Op{l.op("ALTER USER " + a.name() + " " + back)}}}, nil
}

// plugin is the one that asks the kernel who is at the other end of the socket.
func (l look) plugin() string {
	if l.mariadb {
		return "unix_socket"
	}
	return "auth_socket"
}

// socket is how a statement says that the kernel vouches for an account.
func (l look) socket(why string) (string, error) {
	plugin := l.plugin()
	found, err := l.texts("SELECT PLUGIN_NAME FROM information_schema.PLUGINS WHERE PLUGIN_NAME = '" + plugin + "' AND PLUGIN_STATUS = 'ACTIVE'")
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "", &change.Refusal{Why: why + ", and the server has no " + plugin + " that would ask the kernel who it is",
			What: "INSTALL PLUGIN " + plugin + " SONAME '" + plugin + ".so', or give the account a password yourself"}
	}
	return l.vouchedBy(), nil
}

// vouchedBy says it in the server's words.
func (l look) vouchedBy() string {
	if l.mariadb {
		return "VIA " + l.plugin()
	}
	return "WITH " + l.plugin()
}

// lock shuts an account, and leaves it and its rights.
func (l look) lock(a account) change.Act {
	where := " WHERE User = '" + a.user + "' AND Host = '" + a.host + "'"
	query := "SELECT account_locked FROM mysql.user" + where
	after := "Y"
	if l.mariadb {
		query, after = "SELECT COALESCE(JSON_VALUE(Priv, '$.account_locked'), '0') FROM mysql.global_priv"+where, "1"
	}
	return change.Act{Switch: &change.Switch{On: l.t.Name + " lock of " + a.name(), Exact: true, After: after, Inspect: l.asked(query),
		Do:   []change.Op{l.op("ALTER USER " + a.name() + " ACCOUNT LOCK")},
		Undo: []change.Op{l.op("ALTER USER " + a.name() + " ACCOUNT UNLOCK")}}}
}
