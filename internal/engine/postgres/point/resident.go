package point

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"

	"plumb/internal/protect"
)

var _ protect.Resident = Engine{}

// Programs implements protect.Resident: where Debian, the project's own packages, and Red Hat put them.
func (Engine) Programs() []string {
	return []string{"/usr/lib/postgresql/*/bin/postgres", "/usr/pgsql-*/bin/postgres", "/usr/bin/postgres"}
}

var saidVersion = regexp.MustCompile(`^postgres \(PostgreSQL\) (\d+\S*)`)

// Resettle implements protect.Resident.
func (Engine) Resettle(sv protect.Server, program, version string) (protect.Server, error) {
	m := saidVersion.FindStringSubmatch(version)
	if m == nil {
		return sv, errors.New("what it says of its version is not understood")
	}
	if major(m[1]) != major(sv.Version) {
		return sv, fmt.Errorf("it is of the release %d, and not %d", major(m[1]), major(sv.Version))
	}
	sv.Program, sv.Settings = []string{program}, maps.Clone(sv.Settings)
	for _, name := range []string{"dynamic_library_path", "extension_control_path"} {
		delete(sv.Settings, name)
	}
	if strings.Contains(sv.Settings["shared_preload_libraries"], "/") {
		return sv, errors.New("it would load a library by its path")
	}
	return sv, nil
}
