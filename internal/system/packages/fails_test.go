package packages

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
)

// What the script of a package says when it fails is in the error, wherever it says it: apt-get and dpkg themselves only tell its exit status.
func TestAScriptThatFailsIsHeard(t *testing.T) {
	for _, name := range []string{"apt-get", "dpkg-deb", "unshare"} {
		if _, err := exec.LookPath(name); err != nil || os.Geteuid() != 0 {
			t.Skip("needs root, and " + name)
		}
	}
	dir := t.TempDir()
	files := map[string]string{
		"bad/DEBIAN/control":           "Package: plumb-test-bad\nVersion: 1\nArchitecture: all\nMaintainer: nobody <nobody@example.org>\nDescription: one that cannot be set up\n",
		"bad/DEBIAN/postinst":          "#!/bin/sh\necho cannot open /srv/plumb-test: it is not there\necho the service has not started >&2\nexit 3\n",
		"dpkg/status":                  "",
		"dpkg/info/format":             "1\n",
		"dpkg/updates/.keep":           "",
		"dpkg/triggers/File":           "",
		"state/lists/partial/.keep":    "",
		"cache/archives/partial/.keep": "",
		"root/.keep":                   "",
		"log/.keep":                    "",
	}
	files["apt.conf"] = fmt.Sprintf(`Dir::Etc::Parts "/dev/null";
Dir::State "%[1]s/state"; Dir::State::status "%[1]s/dpkg/status"; Dir::State::extended_states "%[1]s/state/extended";
Dir::Cache "%[1]s/cache"; Dir::Log "%[1]s/log"; APT::Sandbox::User "root";
DPkg::Options { "--admindir=%[1]s/dpkg"; "--instdir=%[1]s/root"; "--force-script-chrootless"; "--log=%[1]s/log/dpkg"; };
`, dir)
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("dpkg-deb", "--build", filepath.Join(dir, "bad"), filepath.Join(dir, "bad.deb")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	argv := slices.Clone(these(dir).Argv)
	argv = slices.Insert(argv, slices.Index(argv, "env")+1, "APT_CONFIG="+filepath.Join(dir, "apt.conf"))
	_, err := hosttest.LiveDoer(t).Pipe(t.Context(), host.Pipe{Argv: argv, Works: true})
	for _, part := range []string{"cannot open /srv/plumb-test: it is not there", "the service has not started", "plumb-test-bad"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in %v", part, err)
		}
	}
}
