package vm

import (
	_ "embed" // the scripts
	"strings"
	"testing"
	"time"

	"plumb/test/program"
)

//go:embed guest/selinux_lib.sh
var selinuxLibrary string

//go:embed guest/selinux_mariadb.sh
var selinuxOfMariaDB string

// TestSELinuxEnforcing provisions a server that Debian's policy confines, under a real systemd: it runs confined from
// where it was moved, all its files have the policy's label, and nothing is left in its list of what was set.
func TestSELinuxEnforcing(t *testing.T) {
	m, plumb := Open(t, SELinux), program.ForTest(t)
	r := m.Do(t, Script{In: []string{plumb.Path}, Line: selinuxLibrary + selinuxOfMariaDB, Systemd: true, Kernel: []string{"security=selinux"}, Live: watched(t), Deadline: time.Hour,
		Disks: []Disk{{Name: "data", Bytes: 2 << 30}, {Name: "files", Bytes: 2 << 30}}})
	t.Logf("booted in %v, all took %v", r.Boot, r.Took)
	for _, want := range []string{"mode: Enforcing, shell: unconfined_u:unconfined_r:unconfined_t:",
		"\nat first: mysqld_t on /dev/vda, rows 1, others 0, would change 0\n",
		"\nfact: \"selinux\":{\"value\":\"enforcing\"", "semanage is not installed", "install policycoreutils-python-utils", "\nrefused: pools \n",
		"\nlisted: /var/lib/mysql-log(/.*)? system_u:object_r:mysqld_db_t:s0\n",
		"\nmoved: mysqld_t on tank/mariadb/data, rows 2, others 0, would change 0\n",
		"\nboot: yes yes\n", "\nbooted: mysqld_t on tank/mariadb/data, rows 3, others 0, would change 0\n",
		"\nmislabelled: failed\n", "denied: mysqld_t { search } default_t:dir ",
		"\nlabelled again: mysqld_t on tank/mariadb/data, rows 3, others 0, would change 0\n",
		"\nback: mysqld_t on /dev/vda, rows 3, others 0, would change 0\n", "\nlist: as before\n",
		"\nstarted once more: mysqld_t on /dev/vda, rows 3, others 0, would change 0\n",
		"\nlisted: /srv/mariadb/data(/.*)? system_u:object_r:mysqld_db_t:s0\n",
		"\non ext4: mysqld_t on /dev/vd", "[/data], rows 4, others 0, would change 0\n",
		"\nbooted on ext4: mysqld_t on /dev/vd", "[/data], rows 5, others 0, would change 0\n",
		"\nback from ext4: mysqld_t on /dev/vda, rows 5, others 0, would change 0\n", "\nlist again: as before\n",
		"\nrecorder: active, initrc_t, restarts 0\n", "\nend\n"} {
		if !strings.Contains(string(r.Output), want) {
			t.Errorf("no %q", want)
		}
	}
}
