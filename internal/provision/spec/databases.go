package spec

import (
	"regexp"
	"slices"

	"plumb/internal/product"
	"plumb/internal/strictyaml"
)

// databaseName is what a database or its owner is called: it means the same, unquoted and quoted, to every server, and
// to the system, of which the owner is a user.
var databaseName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)

// isReserved tells databases and accounts that servers make for themselves, and words that they take for something else.
func isReserved(name string) bool {
	words := []string{"root", "sys", "test", "public", "none", "user", "template0", "template1", "information_schema", "performance_schema"}
	for _, s := range product.Servers() {
		words = append(append(words, s.Kind), s.Accounts...)
	}
	return slices.Contains(words, name)
}

// databases reads which databases a server shall have: each by its name alone, which is its owner's too, or by both.
func (r *reader) databases(n *strictyaml.Node) (all []Database) {
	if strictyaml.IsList(n) && (len(n.Content) == 0 || len(n.Content) > mostBases) {
		r.doc.Errorf(n, "server.databases has %d databases: 1 to %d are possible", len(n.Content), mostBases)
		return nil
	}
	r.doc.Items(n, "server.databases", func(n *strictyaml.Node) {
		d := r.database(n)
		if d.Name == "" {
			return
		}
		if slices.ContainsFunc(all, func(had Database) bool { return had.Name == d.Name }) {
			r.doc.Errorf(n, "the database %s is listed twice", d.Name)
			return
		}
		all = append(all, d)
	})
	return all
}

func (r *reader) database(n *strictyaml.Node) (d Database) {
	if strictyaml.IsMap(n) {
		r.doc.Object(n, "a database", strictyaml.Fields{
			"name":  func(n *strictyaml.Node) { d.Name = r.plainName(n, "the name of a database") },
			"owner": func(n *strictyaml.Node) { d.Owner = r.plainName(n, "the owner of a database") },
		}, "name")
	} else {
		d.Name = r.plainName(n, "the name of a database")
	}
	if d.Owner == "" {
		d.Owner = d.Name
	}
	return d
}

func (r *reader) plainName(n *strictyaml.Node, what string) string {
	name := r.doc.Text(n, what)
	switch {
	case name == "":
	case !databaseName.MatchString(name):
		r.doc.Errorf(n, "%s must be a lower-case letter followed by lower-case letters, digits and _, at most 32 characters: not %.80q", what, name)
		return ""
	case isReserved(name):
		r.doc.Errorf(n, "%s cannot be %s, which the server reserves", what, name)
		return ""
	}
	return name
}
