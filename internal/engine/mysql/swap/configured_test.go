package swap

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/provision"
)

// A plugin that INSTALL brought in stands in the data alone, and its settings in the configuration: the program is told to load it. It
// starts without one that the new release does not have, and ends at a setting that it does not know.
func TestTheConfigurationIsReadWithThePlugins(t *testing.T) {
	if _, err := os.Stat("/usr/sbin/mariadbd"); err != nil || os.Geteuid() != 0 {
		t.Skip("needs root, and apt-get install mariadb-server-core")
	}
	name, library := "gone", "plumb_gone.so"
	home := provision.Home{Target: host.Target{Engine: "mysql", Name: "mysql:/run/a.sock"}, UID: 65534, GID: 65534}
	loads, err := loaded(t.Context(), hosttest.Map{Queries: map[string]host.Rows{pluginsQuery: {Values: [][]*string{{&name, &library}}}}}, home)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		line  string
		loads []string
		says  string // "": it takes the configuration
	}{
		{"innodb_buffer_pool_instances = 8", loads, ""},
		{"nothing_of_this_name = 1", nil, "unknown variable 'nothing_of_this_name=1'"},
		{"nothing_of_this_name = 1", loads, library},
	} {
		dir := t.TempDir()
		for _, err := range []error{
			os.Mkdir(filepath.Join(dir, "programs"), 0o755), os.Symlink("/usr", filepath.Join(dir, "programs/usr")),
			os.WriteFile(filepath.Join(dir, "my.cnf"), []byte("[mysqld]\n"+c.line+"\n"), 0o644), os.Chmod(filepath.Dir(dir), 0o755),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		argv := next{dir: dir, server: server{home: home, loads: c.loads}}.configured().Argv
		run := exec.Command(argv[0], argv[1:]...)
		run.Env = append(os.Environ(), "MYSQL_HOME="+dir, "MARIADB_HOME="+dir)
		out, err := run.CombinedOutput()
		if (err == nil) != (c.says == "") || !strings.Contains(string(out), c.says) {
			t.Errorf("%s, with %q: %v: %s", c.line, c.loads, err, out)
		}
	}
}
