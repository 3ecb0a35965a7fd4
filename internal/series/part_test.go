package series

import (
	"testing"

	"plumb/internal/stack"
)

// Two databases are never one, and none is another server's, whatever somebody calls them.
func TestDatabasesHaveNames(t *testing.T) {
	seen := map[stack.Ref]bool{}
	for _, server := range []stack.Ref{{Kind: "postgres", Name: "5432"}, {Kind: "postgres", Name: "/run/postgresql/.s.PGSQL.5432"}} {
		for _, name := range []string{"app", "a/b", "postgres:5432/app", "a%2Fb", "", "ä \n\x00"} {
			for _, ref := range []stack.Ref{Database(server, name), Table(server, name)} {
				if of, got, ok := SplitPart(ref); !ok || of != server || got != name {
					t.Errorf("%q of %s is %q of %s, %v", name, server, got, of, ok)
				}
				if again, err := stack.ParseRef(ref.String()); err != nil || again != ref || seen[ref] {
					t.Errorf("%s is read as %s, %v", ref, again, err)
				}
				seen[ref] = true
			}
		}
	}
	for _, other := range []stack.Ref{{Kind: "database", Name: "one"}, {Kind: "database", Name: "one/two"}, {Kind: "database", Name: "postgres:5432/%zz"}, {Kind: "dataset", Name: "a:b/c"}} {
		if server, name, ok := SplitPart(other); ok {
			t.Errorf("%s is a part %q of %s", other, name, server)
		}
	}
}
