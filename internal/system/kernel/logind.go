package kernel

import (
	"errors"
	"io/fs"
	"strings"

	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/stack"
)

// logindFiles are the main files of systemd-logind, the first that exists
// counts; its drop-ins are read after it, a file hides those of the same name
// in later directories.
func logindFiles() (main, dirs []string) {
	return []string{"/etc/systemd/logind.conf", "/run/systemd/logind.conf", "/usr/local/lib/systemd/logind.conf", "/usr/lib/systemd/logind.conf", "/lib/systemd/logind.conf"},
		[]string{"/etc/systemd/logind.conf.d", "/run/systemd/logind.conf.d", "/usr/local/lib/systemd/logind.conf.d", "/usr/lib/systemd/logind.conf.d", "/lib/systemd/logind.conf.d"}
}

// maxLogindFiles bounds the drop-ins that are read.
const maxLogindFiles = 100

// logind sets whether IPC objects of a user are removed when they log out. The
// default was chosen when systemd was built; the file it brought along shows it
// in a comment.
func (l *look) logind() {
	const fact = "logind_remove_ipc"
	if inside, known := l.t.Bool("in_container"); !known || inside {
		l.obs.Gap(l.t.Ref, "what logind does is set on the host, outside this container", "run Plumb on the host", fact)
		return
	}
	if !l.systemd() {
		l.t.SetAbsent(fact, host.SystemdRuntime)
		return
	}
	names, err := l.logindNames()
	if err != nil {
		l.gap(err, fact)
		return
	}
	set, source := "", ""
	for _, name := range names {
		data, err := l.h.ReadFile(l.ctx, name)
		if err != nil {
			l.gap(err, fact)
			return
		}
		if value, _ := parseRemoveIPC(data); value != "" {
			set, source = value, name
		}
	}
	if set == "" {
		set, source = l.logindDefault()
	}
	on, ok := parseUnitBool(set)
	if !ok {
		l.obs.Gap(l.t.Ref, "no file of logind says whether RemoveIPC is on by default", "", fact)
		return
	}
	l.t.Set(fact, stack.Bool(on), source)
}

// logindDefault gives the default that a main file shows, whether it counts or not.
func (l *look) logindDefault() (value, source string) {
	main, _ := logindFiles()
	for _, name := range main {
		data, err := l.h.ReadFile(l.ctx, name)
		if err != nil {
			continue
		}
		if _, comment := parseRemoveIPC(data); comment != "" {
			return comment, "the default that " + name + " shows"
		}
	}
	return "", ""
}

// logindNames gives the files that count, in the order they are read.
func (l *look) logindNames() ([]string, error) {
	main, dirs := logindFiles()
	var names []string
	for _, name := range main {
		_, err := l.h.Stat(l.ctx, name)
		if err == nil {
			names = append(names, name)
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	found, err := observe.DropIns(l.ctx, l.h, dirs...)
	if err != nil {
		return nil, err
	}
	return append(names, found[:min(len(found), maxLogindFiles)]...), nil
}

// parseRemoveIPC gives what a file of logind sets in its section Login, last
// line first, and what a comment shows as the default.
func parseRemoveIPC(data []byte) (value, comment string) {
	section := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = line
		}
		bare := strings.TrimLeft(line, "#; ")
		name, text, ok := strings.Cut(bare, "=")
		if !ok || strings.TrimSpace(name) != "RemoveIPC" || section != "[Login]" {
			continue
		}
		if bare != line {
			comment = strings.TrimSpace(text)
		} else if text = strings.TrimSpace(text); text != "" {
			value = text
		}
	}
	return value, comment
}

// parseUnitBool reads a switch as systemd does.
func parseUnitBool(text string) (on, ok bool) {
	switch strings.ToLower(text) {
	case "1", "yes", "y", "true", "t", "on":
		return true, true
	case "0", "no", "n", "false", "f", "off":
		return false, true
	}
	return false, false
}
