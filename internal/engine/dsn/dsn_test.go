package dsn

import (
	"strings"
	"testing"
)

// No data source name breaks the reading of it, and no mistake in one shows
// the password: it would stand in a terminal's history and in logs.
func FuzzReadDSN(f *testing.F) {
	for _, seed := range []string{"mysql://u:s3cr3tpw@db:3306/", "postgres://u:s3cr3tpw@[::1/x", "u:s3cr3tpw@tcp(x/", "mongodb://u:s3cr3tpw@%zz/",
		"mariadb://u:s3cr3tpw@/", "://s3cr3tpw", "postgresql://u@/x?password=s3cr3tpw&host=/run", "http://u:s3cr3tpw@x/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, dsn string) {
		g, err := Read(dsn)
		if err != nil {
			if strings.Contains(dsn, ":s3cr3tpw@") && strings.Contains(err.Error(), "s3cr3tpw") {
				t.Errorf("the error shows the password: %v", err)
			}
			return
		}
		if n := g.Named(); strings.Contains(dsn, "://u:s3cr3tpw@") && strings.Contains(n.Name+n.Address, "s3cr3tpw") {
			t.Errorf("what goes on a tape shows the password: %+v", n)
		}
	})
}

// No name of a server to put under load breaks the reading of it.
func FuzzAddressOf(f *testing.F) {
	for _, seed := range []string{"mysql://u:p@db:3306/x", "postgres://u@[::1/x", "u@unix(/s)/", "mariadb://u@/?socket=/s"} {
		f.Add(seed)
	}
	f.Fuzz(func(_ *testing.T, text string) { _, _ = AddressOf(text) })
}

func TestEngineOf(t *testing.T) {
	for _, c := range []struct{ dsn, engine, forDriver string }{
		{"mysql://u:p@db:3307/", "mysql", "u:p@tcp(db:3307)/"},
		{"mariadb://u@[::1]/x", "mysql", "u@tcp([::1]:3306)/x"},
		{"u:p@tcp(db:3306)/", "mysql", "u:p@tcp(db:3306)/"},
		{"postgresql://u@db/x", "postgres", "postgresql://u@db/x"},
		{"mongodb://db", "mongo", "mongodb://db"},
	} {
		t.Run(c.engine, func(t *testing.T) {
			engine, forDriver, err := engineOf(c.dsn)
			if err != nil || engine != c.engine || forDriver != c.forDriver {
				t.Errorf("%s: got %s %s %v", c.dsn, engine, forDriver, err)
			}
		})
	}
}
