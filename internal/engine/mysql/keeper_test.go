package mysql

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
)

// safe is the command line of mysqld_safe as the kernel has it, but for its arguments.
const safe = "/bin/sh\x00/usr/bin/mariadbd-safe\x00"

// keep gives the server of process 77 a mysqld_safe with a command line; "" for none.
func keep(files map[string]string, cmdline string) {
	if cmdline != "" {
		files["/proc/77/status"], files["/proc/70/comm"], files["/proc/70/cmdline"] = "Name:\tmariadbd\nPPid:\t70\n", "mariadbd-safe\n", cmdline
	}
}

// pathRow is what MariaDB tells of a path that is read at start.
var pathRow = []string{"/var/lib/mysql/", "VARCHAR", "", "", "", "", "YES", "GLOBAL", "REQUIRED"}

// What mysqld_safe puts on a server's command line wins over no option file: it read them, and will again. What a person wrote on its
// own command line, or in its own groups, does.
func TestKeeperHandsOn(t *testing.T) {
	const (
		now   = "--datadir=/var/lib/mysql"
		ours  = "/etc/mysql/mariadb.conf.d/zz-plumb.cnf"
		wins  = "overrides every option file"
		there = "/etc/mysql/mariadb.conf.d/60-data.cnf"
	)
	file := func(text string) map[string]string { return tree(map[string]string{there: text}) }
	for name, c := range map[string]struct {
		standing
		knob, to string
		want     string // the file, or a part of the refusal
	}{
		"nobody says it":              {standing{args: []string{now}, keeper: safe, disk: tree(nil)}, "datadir", "/srv/shop", ours},
		"a file says it":              {standing{args: []string{now}, keeper: safe, disk: file("[mysqld]\ndatadir = /var/lib/mysql/\n")}, "datadir", "/srv/shop", ours},
		"a file of MariaDB's says it": {standing{args: []string{now}, keeper: safe, disk: file("[mariadb-10.11]\ndatadir=/var/lib/mysql\n")}, "datadir", "/srv/shop", ours},
		"it hands a port on":          {standing{args: []string{now, "--port=3307"}, keeper: safe + "--nice=5\x00", disk: file("[mysqld]\nport=3307\n")}, "port", "3308", ours},
		"a file says another":         {standing{args: []string{now}, keeper: safe, disk: file("[mysqld]\ndatadir=/srv/db\n")}, "datadir", "/srv/shop", wins},
		"its own arguments say it":    {standing{args: []string{now}, keeper: safe + now + "\x00", disk: tree(nil)}, "datadir", "/srv/shop", wins},
		"in its other word":           {standing{args: []string{now}, keeper: safe + "--data=/var/lib/mysql\x00", disk: tree(nil)}, "datadir", "/srv/shop", wins},
		"its own group says it":       {standing{args: []string{now}, keeper: safe, disk: file("[mysqld_safe]\ndatadir=/var/lib/mysql\n")}, "datadir", "/srv/shop", wins},
		"its own group, by its name":  {standing{args: []string{now}, keeper: safe, disk: file("[mariadbd-safe]\ndatadir=/var/lib/mysql\n")}, "datadir", "/srv/shop", wins},
		"it has no word for it":       {standing{args: []string{"--tmpdir=/tmp"}, keeper: safe, disk: tree(nil)}, "tmpdir", "/srv/tmp", wins},
		"groups with a suffix":        {standing{args: []string{"--defaults-group-suffix=.a", now}, keeper: safe, disk: tree(nil)}, "datadir", "/srv/shop", wins},
		"two words":                   {standing{args: []string{now}, keeper: safe, disk: tree(nil)}, "datadir", "/srv/the shop", wins},
		"it is another program":       {standing{args: []string{now}, keeper: "/usr/bin/supervise\x00", disk: tree(nil)}, "datadir", "/srv/shop", wins},
		"nobody keeps it":             {standing{args: []string{now}, disk: tree(nil)}, "datadir", "/srv/shop", wins},
		"in a container":              {standing{args: []string{now}, keeper: safe, disk: tree(nil), inside: true}, "datadir", "/srv/shop", "read only at startup"},
		"a group that it passes over": {standing{version: oracle, args: []string{now}, keeper: safe, disk: file("[mysqld-8.4]\ndatadir=/var/lib/mysql\n")}, "datadir", "/srv/shop", wins},
		"MySQL":                       {standing{version: oracle, args: []string{now}, keeper: safe, disk: file("[mysqld]\ndatadir=/var/lib/mysql\n")}, "datadir", "/srv/shop", there},
	} {
		if c.row = pathRow; c.version == "" {
			c.version = mariadb
		}
		r, err := c.recipe(t, c.knob, stack.Text(c.to))
		said := r.Lasts
		if refusal, ok := errors.AsType[*change.Refusal](err); ok {
			said = refusal.Why
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !strings.Contains(said, c.want) {
			t.Errorf("%s: %s, want %s", name, said, c.want)
		}
	}
}

// What mysqld_safe makes from the data directory goes with it; a whole path that somebody has named does not.
func TestKeeperDerives(t *testing.T) {
	const conf = "/etc/mysql/my.cnf"
	both := []string{"log_error", "pid_file"}
	for name, c := range map[string]struct {
		keeper, file string
		want         []string
	}{
		"nobody says them":      {safe, "[mysqld]\nport=3306\n", both},
		"relative":              {safe, "[mysqld]\npid-file=x.pid\n[mysqld_safe]\nlog-error=x\n", both},
		"without an error log":  {safe, "[mysqld_safe]\nskip_log_error\nsyslog\n", both},
		"a whole path":          {safe, "[mysqld]\npid-file=/var/lib/mysql/x.pid\n", []string{"log_error"}},
		"a whole path of its":   {safe, "[mysqld_safe]\nlog_error=/var/lib/mysql/x.err\n", []string{"pid_file"}},
		"by its arguments":      {safe + "--pid-file=/var/lib/mysql/x.pid\x00", "", []string{"log_error"}},
		"the beginning of both": {safe, "[mysqld]\nlog-basename=/var/lib/mysql/x\n", nil},
		"nobody keeps it":       {"", "", nil},
	} {
		h := hosttest.Map{Files: map[string]string{conf: c.file}, Who: host.About{Root: true, User: "root"}}
		keep(h.Files, c.keeper)
		seen := running("77", []string{"/usr/sbin/mariadbd", "--datadir=/var/lib/mysql"}, []string{"unix:/run/a.sock"})
		if got := NewSetter(hosttest.Catalog(t), nil).Derived(t.Context(), h, seen, stack.Ref{Kind: "mysql", Name: "/run/a.sock"}); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
