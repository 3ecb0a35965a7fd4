package kernel

import (
	"testing"

	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
)

// logindConf is that of Debian 12, shorter.
const logindConf = `#  This file is part of systemd.
#
# See logind.conf(5) for details.

[Login]
#NAutoVTs=6
#KillUserProcesses=no
#RemoveIPC=yes
#UserStopDelaySec=10
`

func TestParseRemoveIPC(t *testing.T) {
	for _, c := range []struct{ text, value, comment string }{
		{logindConf, "", "yes"},
		{logindConf + "RemoveIPC=no\n", "no", "yes"},
		{"[Login]\nRemoveIPC = no\nRemoveIPC=yes\n", "yes", ""},
		{"[Manager]\nRemoveIPC=no\n", "", ""},
		{"", "", ""},
	} {
		if value, comment := parseRemoveIPC([]byte(c.text)); value != c.value || comment != c.comment {
			t.Errorf("%q: %q, %q", c.text, value, comment)
		}
	}
}

func TestLogindRemoveIPC(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  stack.Value
		known bool
	}{
		"the default":         {map[string]string{"/etc/systemd/logind.conf": logindConf}, stack.Bool(true), true},
		"a drop-in":           {map[string]string{"/etc/systemd/logind.conf": logindConf, "/usr/lib/systemd/logind.conf.d/a.conf": "[Login]\nRemoveIPC=no\n"}, stack.Bool(false), true},
		"a drop-in is hidden": {map[string]string{"/usr/lib/systemd/logind.conf": logindConf, "/usr/lib/systemd/logind.conf.d/a.conf": "[Login]\nRemoveIPC=no\n", "/etc/systemd/logind.conf.d/a.conf": ""}, stack.Bool(true), true},
		"the last drop-in":    {map[string]string{"/etc/systemd/logind.conf.d/a.conf": "[Login]\nRemoveIPC=no\n", "/run/systemd/logind.conf.d/b.conf": "[Login]\nRemoveIPC=yes\n"}, stack.Bool(true), true},
		"nobody says":         {map[string]string{"/etc/systemd/logind.conf": "[Login]\n"}, stack.Value{}, false},
	} {
		c.files["/run/systemd/system/x"] = ""
		l := &look{ctx: t.Context(), h: hosttest.Map{Files: c.files}}
		l.t = l.obs.New("host", "x")
		l.t.Set("in_container", stack.Bool(false), "test")
		l.logind()
		if got, known := l.t.Get("logind_remove_ipc"); known != c.known || known && !got.Equal(c.want) {
			t.Errorf("%s: %v, %v; gaps %v", name, got, known, l.obs.Gaps)
		}
		if !c.known && len(l.obs.Gaps) != 1 {
			t.Errorf("%s: gaps %v", name, l.obs.Gaps)
		}
	}
}
