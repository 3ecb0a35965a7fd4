package driven

import (
	"errors"
	"strings"
	"testing"

	"plumb/internal/hint"
)

// TestServerIsNoPoint refuses servers in the place of a point, however they are called, and nothing else.
func TestServerIsNoPoint(t *testing.T) {
	v := &verbs{}
	for _, name := range []string{"mysql:3306", "mariadb:3306", "MariaDB", "postgres", "postgresql:5432", "mongodb:27017"} {
		err := v.server(name)
		if err == nil || !strings.HasPrefix(err.Error(), name+" is a server") || !strings.Contains(hint.Of(err), "plumb snapshot") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"20261123T2105", "prod-db", "", "mysqlx:3306"} {
		if err := v.server(name); err != nil {
			t.Error(errors.Join(errors.New(name), err))
		}
	}
}
