package mysql

import (
	"strings"
	"testing"

	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
)

// What only the groups of a series say is lost under another, unless a group that is read then says the same.
func TestOfSeries(t *testing.T) {
	const at = "/etc/mysql/mariadb.conf.d/60-ours.cnf"
	for name, c := range map[string]struct{ text, want string }{
		"an empty group":        {"[mariadb-10.11]\n[mysqld]\nport=3307\n", ""},
		"three words for it":    {"[mariadb-10.11]\nport=3307\n[mariadbd-10.11]\nlog-bin\n[mysqld-10.11]\nsync_binlog=1\n", at + ":2 port," + at + ":4 log_bin," + at + ":6 sync_binlog"},
		"said for the next too": {"[mariadb-10.11]\nport=3307\n[mariadb-11.8]\nport=3307\n", ""},
		"said for all":          {"[mysqld]\nport=3307\n[mariadb-10.11]\nport=3307\n", ""},
		"all say another":       {"[mysqld]\nport=3306\n[mariadb-10.11]\nport=3307\n", at + ":4 port"},
		"one of several":        {"[mysqld-10.11]\nplugin_load_add=a\n[mysqld-11.8]\nplugin_load_add=a\nplugin_load_add=b\n", ""},
		"a series of others":    {"[mariadb-10.6]\nport=3307\n", ""},
	} {
		h := hosttest.Map{Files: tree(map[string]string{at: c.text})}
		got, err := OfSeries(t.Context(), h, running("77", []string{"/usr/sbin/mariadbd"}, nil), 77, "10.11.14", "11.8")
		if err != nil || strings.Join(got, ",") != c.want {
			t.Errorf("%s: %q %v, want %q", name, got, err, c.want)
		}
	}
	if got, err := OfSeries(t.Context(), hosttest.Map{}, running("77", []string{"/usr/sbin/mariadbd"}, nil), 78, "10.11.14", "11.8"); err == nil {
		t.Errorf("of a process that is not known: %q", got)
	}
}

// MariaDB's own word for the suffix of groups is read by it alone, and since 12.0; the command line wins.
func TestSuffixOfGroups(t *testing.T) {
	const both = "MYSQL_GROUP_SUFFIX=.a\x00MARIADB_GROUP_SUFFIX=.b\x00"
	for name, c := range map[string]struct{ said, environ, arg, want string }{
		"an old MariaDB":   {"mariadbd  Ver 11.8.3-MariaDB for Linux on x86_64", both, "", ".a"},
		"a new MariaDB":    {"mariadbd  Ver 12.3.1-MariaDB for Linux on x86_64", both, "", ".b"},
		"only MySQL's":     {"mariadbd  Ver 12.3.1-MariaDB for Linux on x86_64", "MYSQL_GROUP_SUFFIX=.a\x00", "", ".a"},
		"the command line": {"mariadbd  Ver 12.3.1-MariaDB for Linux on x86_64", both, "--defaults-group-suffix=.c", ".c"},
	} {
		h := hosttest.Map{Files: map[string]string{"/proc/77/environ": c.environ}, Outputs: map[string]string{"/usr/sbin/mariadbd --version": c.said}}
		in := &instance{process: &stack.Thing{}, pid: 77, exe: "/usr/sbin/mariadbd", args: []string{"/usr/sbin/mariadbd", c.arg}}
		if in.collect(t.Context(), h); in.suffix != c.want {
			t.Errorf("%s: the suffix is %q, want %q", name, in.suffix, c.want)
		}
	}
}
