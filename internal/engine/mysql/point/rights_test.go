package point

import (
	"strings"
	"testing"

	"plumb/internal/host"
	"plumb/internal/protect"
)

func TestLacks(t *testing.T) {
	for _, c := range []struct {
		grants   string // with | between them
		database string
		want     string
	}{
		{"GRANT SELECT, INSERT ON *.* TO `a`@`b`", "shop", "DROP"},
		{"GRANT USAGE ON *.* TO `a`@`b` IDENTIFIED VIA unix_socket|GRANT SELECT, INSERT, DROP ON `shop`.* TO `a`@`b`", "shop", ""},
		{"GRANT SELECT, INSERT, DROP ON `shop`.* TO `a`@`b`", "other", "SELECT INSERT DROP"},
		{"GRANT ALL PRIVILEGES ON `sh%`.* TO `a`@`b`", "shop", ""},
		{"GRANT ALL PRIVILEGES ON `sh\\_p`.* TO `a`@`b`", "shop", "SELECT INSERT DROP"},
		{"GRANT ALL PRIVILEGES ON `sh\\_p`.* TO `a`@`b`", "sh_p", ""},
		{"GRANT ALL PRIVILEGES ON `sh_p`.* TO `a`@`b`", "shop", ""},
		{"GRANT ALL PRIVILEGES ON `a``*[`.* TO `a`@`b`", "a`*[", ""},
		{"GRANT ALL PRIVILEGES ON `a``*[`.* TO `a`@`b`", "a`xx", "SELECT INSERT DROP"},
		{"GRANT SELECT ON `shop`.`orders` TO `a`@`b`", "shop", "SELECT INSERT DROP"},
		{"GRANT ALL PRIVILEGES ON *.* TO `a`@`b` WITH GRANT OPTION", "", ""},
		{"GRANT ALL PRIVILEGES ON `shop`.* TO `a`@`b`", "", "SELECT INSERT DROP"},
		{"GRANT `role` TO `a`@`b`|GRANT USAGE ON *.* TO `a`@`b`", "shop", ""}, // not known
	} {
		var rows host.Rows
		for g := range strings.SplitSeq(c.grants, "|") {
			rows.Values = append(rows.Values, []*string{&g})
		}
		if got := strings.Join(lacks(rows, c.database, "SELECT", "INSERT", "DROP"), " "); got != c.want {
			t.Errorf("%s in %q lacks %q, want %q", c.grants, c.database, got, c.want)
		}
	}
}

func TestResettle(t *testing.T) {
	sv := protect.Server{Flavor: "mariadb", Version: "10.11.14", Program: []string{"/tmp/evil"}, Settings: map[string]string{"basedir": "/tmp", "plugin_dir": "/tmp", "innodb_page_size": "8192"}}
	got, err := (*Engine)(nil).Resettle(sv, "/usr/sbin/mariadbd", "/usr/sbin/mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)")
	if err != nil || got.Program[0] != "/usr/sbin/mariadbd" || got.Settings["basedir"]+got.Settings["plugin_dir"] != "" || got.Settings["innodb_page_size"] != "8192" || sv.Settings["basedir"] == "" {
		t.Errorf("%+v, %v", got, err)
	}
	for _, version := range []string{"", "mysqld  Ver 8.0.40 for Linux on x86_64 (MySQL Community Server - GPL)", "mariadbd  Ver 11.4.2-MariaDB for linux on x86_64 (x)"} {
		if _, err := (*Engine)(nil).Resettle(sv, "/usr/sbin/mysqld", version); err == nil {
			t.Errorf("%q starts a copy of MariaDB 10.11", version)
		}
	}
	sv.Settings["plugin_load_add"] = "x=/tmp/x.so"
	if _, err := (*Engine)(nil).Resettle(sv, "/usr/sbin/mariadbd", "mariadbd  Ver 10.11.19-MariaDB for x (x)"); err == nil {
		t.Error("a plugin of the sender's is loaded")
	}
}
