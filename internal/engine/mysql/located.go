package mysql

import (
	"context"
	"strings"

	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/product"
	"plumb/internal/stack"
)

// Reach finds a server of the stack, and says how to log in to it. Process is nil
// for one that is not on this host; ok is false for one that cannot be reached.
func (p *Probe) Reach(ctx context.Context, h host.Reader, seen *stack.Stack, db stack.Ref) (t host.Target, at observe.Local, ok bool) {
	for _, in := range p.servers(ctx, h, seen) {
		if in.name == db.Name && in.target.Address != "" {
			return in.target, in.local, true
		}
	}
	return t, at, false
}

// Identify gives the product's flavour and version number from @@version and
// @@version_comment.
func Identify(version, comment string) (product, ver string) {
	return flavor(version, comment), number(version)
}

// Elsewhere asks which tablespaces are known by an absolute path, which are those outside the data directory.
func Elsewhere(mariadb bool, version string) string {
	column, table := "PATH", "INNODB_DATAFILES"
	switch {
	case mariadb && AtLeast(version, "10.6"):
		column, table = "FILENAME", "INNODB_SYS_TABLESPACES"
	case mariadb || !AtLeast(version, "8.0"):
		table = "INNODB_SYS_DATAFILES"
	}
	return "SELECT " + column + " FROM information_schema." + table + " WHERE " + column + " LIKE '/%'"
}

// Identifier writes a name as SQL.
func Identifier(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// Literal writes a text as SQL, for sessions whose sql_mode leaves backslashes
// their meaning.
func Literal(text string) string { return product.DialectOf(product.MySQL).Quote(text) }
