package mysql

import (
	"context"

	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/stack"
)

// OwnSchemas are those of the server and its tools, as a list of SQL.
const OwnSchemas = ownSchemas

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

// AtLeast compares two versions of one flavour.
func AtLeast(version, least string) bool { return atLeast(version, least) }

// SeesTables tells from SHOW GRANTS whether all tables are visible.
func SeesTables(grants host.Rows) bool { return seesTables(grants) }

// Pairs reads rows of name and value; names are given in lower case.
func Pairs(rows host.Rows) map[string]string { return pairs(rows) }
