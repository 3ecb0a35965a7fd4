package point

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"

	engine "plumb/internal/engine/mysql"
	"plumb/internal/protect"
)

var _ protect.Resident = (*Engine)(nil)

// Programs implements protect.Resident: where Debian, Red Hat, SUSE and Arch put them.
func (*Engine) Programs() []string {
	return []string{"/usr/sbin/mariadbd", "/usr/sbin/mysqld", "/usr/libexec/mariadbd", "/usr/libexec/mysqld", "/usr/bin/mariadbd"}
}

// saidVersion is what mysqld --version prints: mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for …
var saidVersion = regexp.MustCompile(`\bVer (\d+\.\d+\.\d+\S*) (.*)`)

// Resettle implements protect.Resident. A later release would change the data first, an earlier
// one does not read it.
func (*Engine) Resettle(sv protect.Server, program, version string) (protect.Server, error) {
	m := saidVersion.FindStringSubmatch(version)
	if m == nil {
		return sv, errors.New("what it says of its version is not understood")
	}
	flavor, here := engine.Identify(m[1], m[2])
	if flavor != sv.Flavor || engine.Series(here) != engine.Series(sv.Version) {
		return sv, fmt.Errorf("it is %s %s, and not of the release %s %s", flavor, here, sv.Flavor, engine.Series(sv.Version))
	}
	sv.Program, sv.Settings = []string{program}, maps.Clone(sv.Settings)
	for _, name := range []string{"basedir", "plugin_dir", "lc_messages_dir", "character_sets_dir"} {
		delete(sv.Settings, name)
	}
	if strings.Contains(sv.Settings["plugin_load_add"], "/") {
		return sv, errors.New("it would load a plugin by its path")
	}
	return sv, nil
}
