package setup

import (
	"slices"
	"testing"

	"plumb/internal/host/hosttest"
	"plumb/internal/provision"
)

// A directory of a filesystem stays where it was filled, beside the server's own place: SELinux's list has to have both, or a
// relabelling gives the files the label of the wrong one. A dataset is mounted in one place only.
func TestLabelsOfBothPlaces(t *testing.T) {
	h := hosttest.Map{
		Files: map[string]string{"/sys/fs/selinux/enforce": "1", "/etc/selinux/config": "SELINUXTYPE=default\n",
			"/usr/sbin/matchpathcon": "", "/usr/sbin/semanage": "", "/usr/sbin/restorecon": ""},
		Outputs: map[string]string{"matchpathcon -n /var/lib/mysql": "system_u:object_r:mysqld_db_t:s0\n",
			"matchpathcon -n /var/lib/mysql-log": "system_u:object_r:var_lib_t:s0\n", "matchpathcon -n /srv/mariadb/data": "system_u:object_r:var_t:s0\n"},
	}
	for name, c := range map[string]struct {
		volumes []provision.Volume
		want    []string
	}{
		"a filesystem": {[]provision.Volume{{Role: "data", At: "/var/lib/mysql", Aside: "/srv/mariadb/data"}},
			[]string{"restorecon -R -F /var/lib/mysql", "semanage fcontext -a -t mysqld_db_t '/srv/mariadb/data(/.*)?'"}},
		"datasets": {[]provision.Volume{{Role: "data", Dataset: "tank/data", At: "/var/lib/mysql", Aside: "/var/lib/plumb/new-tank-data"}, {Role: "redo", Dataset: "tank/log", At: "/var/lib/mysql-log", Aside: "/var/lib/plumb/new-tank-log"}},
			[]string{"restorecon -R -F /var/lib/mysql", "semanage fcontext -a -t mysqld_db_t '/var/lib/mysql-log(/.*)?'"}},
		"filled where it is": {[]provision.Volume{{Role: "data", At: "/srv/mariadb/data"}}, []string{"semanage fcontext -a -t mysqld_db_t '/srv/mariadb/data(/.*)?'"}},
	} {
		acts, err := System{}.Labels(t.Context(), h, provision.Home{Label: "mysqld_db_t"}, c.volumes)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range acts {
			got = append(got, a.Switch.Do[0].String())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
