package playbook

import (
	"os/exec"
	"strings"
	"testing"

	"plumb/internal/view/page"
)

// What a script finds with sed must be what package change finds.
func TestMatchScript(t *testing.T) {
	const match = `^[0-9]+ [0-9]+ [^ ]+ [^ ]+ /srv/my\\040db .*[ ,](noatime|relatime)([ ,].*)?$`
	for text, want := range map[string]string{
		"36 1 8:1 / /srv/my\\040db rw,nosuid,noatime shared:1 - ext4 /dev/sda1 rw\n":                                                              "noatime",
		"36 1 8:1 / /srv/my\\040db rw - ext4 /dev/sda1 rw\n37 1 8:1 / /srv rw,noatime - ext4 /dev/sda1 rw\n":                                      "(none)",
		"36 1 8:1 / /srv/my\\040db rw,noatime - ext4 /dev/sda1 rw\n37 1 8:1 / /srv/my\\040db rw,relatime - ext4 /dev/sda1 rw,commit=30,discard\n": "relatime",
		"": "(none)",
	} {
		run := exec.Command("sh", "-c", shellLibrary+"\nmatched "+page.Shell(matchScript(match)))
		run.Stdin = strings.NewReader(text)
		out, err := run.Output()
		if err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("%q gives %q, %v; want %q", text, out, err, want)
		}
	}
}
