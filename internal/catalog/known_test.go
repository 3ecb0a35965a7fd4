package catalog_test

import (
	"strings"
	"testing"

	"plumb/internal/catalog"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
)

func server(kind, flavor, version string) *stack.Thing {
	t := stack.NewThing(kind, "1")
	if flavor != "" {
		t.Set("flavor", stack.Text(flavor), "test")
	}
	t.Set("version", stack.Text(version), "test")
	return t
}

func TestStandingOfVersions(t *testing.T) {
	cat := hosttest.Catalog(t)
	for _, c := range []struct{ kind, flavor, version, want string }{
		{"mysql", "mysql", "5.6.51", "older than 5.7,"},
		{"mysql", "percona", "5.1.73", "older than 5.7,"},
		{"mysql", "mariadb", "10.4.34", "older than 10.5,"},
		{"mysql", "mysql", "5.7.5", ""},
		{"mysql", "mysql", "9.7.4", ""},
		{"mysql", "mysql", "26.7.0", "newer than 9.7,"},
		{"mysql", "mariadb", "10.11.19-MariaDB", ""},
		{"mysql", "", "5.5", ""},
		{"postgres", "", "9.6.24", "older than 10,"},
		{"postgres", "", "18.6", ""},
		{"postgres", "", "19.1", "newer than 18,"},
		{"mongo", "mongodb", "4.2.25", "older than 4.4,"},
		{"mongo", "ferretdb", "1.2", ""},
		{"mysql", "mysql", "unreadable", ""},
		{"proxysql", "", "1.0", ""},
	} {
		s := cat.Standing(server(c.kind, c.flavor, c.version))
		if got := s.Say(c.version); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s %s %s: %q, want … %s …", c.kind, c.flavor, c.version, got, c.want)
		}
	}
}

// The buffer pool grows online since MySQL 5.7.5 and MariaDB 10.2.2, the redo
// log of MariaDB since 10.9.
func TestEffectOfAVersion(t *testing.T) {
	cat := hosttest.Catalog(t)
	for _, c := range []struct {
		knob, flavor, version string
		want                  catalog.Effect
	}{
		{"innodb_buffer_pool_size", "mysql", "5.6.51", catalog.Restart},
		{"innodb_buffer_pool_size", "mysql", "5.7.4", catalog.Restart},
		{"innodb_buffer_pool_size", "mysql", "5.7.5", catalog.Now},
		{"innodb_buffer_pool_size", "percona", "5.1.73", catalog.Restart},
		{"innodb_buffer_pool_size", "mariadb", "10.2.1", catalog.Restart},
		{"innodb_buffer_pool_size", "mariadb", "10.2.2", catalog.Now},
		{"innodb_buffer_pool_size", "mysql", "unreadable", catalog.Now},
		{"innodb_log_file_size", "mariadb", "10.8.8", catalog.Restart},
		{"innodb_log_file_size", "mariadb", "10.11.19", catalog.Now},
		{"innodb_log_file_size", "mysql", "8.0.29", catalog.Restart},
	} {
		if got := cat.Fact("mysql", c.knob).EffectOn(server("mysql", c.flavor, c.version)); got != c.want {
			t.Errorf("%s on %s %s takes effect %s, want %s", c.knob, c.flavor, c.version, got, c.want)
		}
	}
	if got := cat.Fact("mysql", "innodb_buffer_pool_size").EffectOn(nil); got != catalog.Now {
		t.Errorf("on nothing: %s", got)
	}
}
