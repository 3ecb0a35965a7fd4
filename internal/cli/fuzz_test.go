package cli

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
		g, err := readDSN(dsn)
		if err != nil {
			if strings.Contains(dsn, ":s3cr3tpw@") && strings.Contains(err.Error(), "s3cr3tpw") {
				t.Errorf("the error shows the password: %v", err)
			}
			return
		}
		if n := g.named(); strings.Contains(dsn, "://u:s3cr3tpw@") && strings.Contains(n.Name+n.Address, "s3cr3tpw") {
			t.Errorf("what goes on a tape shows the password: %+v", n)
		}
	})
}
