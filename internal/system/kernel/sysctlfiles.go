package kernel

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"plumb/internal/edit"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/stack"
)

const (
	sysctlConf     = "/etc/sysctl.conf"
	maxSysctlFiles = 500
	maxSysctlLines = 10000
)

// sysctlDirs are read at boot, first one first: a file hides those of the
// same name in later directories.
func sysctlDirs() []string {
	return []string{"/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d", "/lib/sysctl.d"}
}

// setting is one line of a sysctl file.
type setting struct {
	name    string // with dots
	value   string
	pattern bool // holds a wildcard
	exclude bool // "-name" alone: patterns do not set it
	file    string
	line    int
}

func (s setting) where() string {
	if s.file == "" {
		return "kernel command line"
	}
	return fmt.Sprintf("%s:%d", s.file, s.line)
}

// bootSettings is what the next boot will set, in order: later wins.
type bootSettings struct {
	lines       []setting
	conf        []setting // lines of /etc/sysctl.conf
	ignoresConf bool      // nothing reads /etc/sysctl.conf
	confLast    bool      // /etc/sysctl.conf is read after everything else
	complete    bool      // every file that counts could be read
	tuned       bool      // a TuneD profile may set what no administrator's file sets
}

// bootSettings reads all files that set sysctls at boot. It follows
// sysctl.d(5) where systemd runs and sysctl(8) --system elsewhere; the two
// differ in /etc/sysctl.conf, which only the latter reads.
func (l *look) bootSettings() bootSettings {
	b := bootSettings{complete: true, tuned: l.tuned()}
	if inside, known := l.t.Bool("in_container"); !known || inside {
		l.obs.Gap(l.t.Ref, "what sets sysctls at boot lies on the host, outside this container",
			"run Plumb on the host", "sysctl_next_boot", "sysctl_conf_ignored")
		return bootSettings{}
	}
	b.lines = append(b.lines, bootArguments(l.word("/proc/cmdline"))...)
	files, linked := l.sysctlFiles(&b)
	for _, f := range files {
		b.lines = append(b.lines, l.sysctlLines(f, &b)...)
	}
	if l.exists(sysctlConf) {
		b.conf = l.sysctlLines(sysctlConf, &b)
	}
	switch {
	case l.systemd():
		b.ignoresConf = !linked
	default: // sysctl --system reads it once more at its end, linked or not
		b.confLast = true
		b.lines = append(b.lines, b.conf...)
	}
	if !b.complete {
		l.obs.Gap(l.t.Ref, "not every file of sysctl.d could be read", asRoot, "sysctl_next_boot", "sysctl_conf_ignored")
	}
	return b
}

// systemd tells whether systemd-sysctl sets them at boot. In an image nothing
// runs, so there it is asked whether systemd is installed.
func (l *look) systemd() bool {
	if l.image {
		return l.exists("/usr/lib/systemd/systemd") || l.exists("/lib/systemd/systemd")
	}
	runs, _ := host.RunsSystemd(l.ctx, l.h)
	return runs
}

// sysctlFiles lists the files of the directories in the order they count, and
// tells whether one of them is a link to /etc/sysctl.conf.
func (l *look) sysctlFiles(b *bootSettings) (files []string, linked bool) {
	files, err := observe.DropIns(l.ctx, l.h, sysctlDirs()...)
	b.complete = b.complete && err == nil
	if len(files) > maxSysctlFiles {
		files, b.complete = files[:maxSysctlFiles], false
	}
	for i, name := range files {
		to, err := l.h.Readlink(l.ctx, name)
		if err != nil {
			continue
		}
		if !path.IsAbs(to) {
			to = path.Join(path.Dir(name), to)
		}
		switch path.Clean(to) {
		case sysctlConf:
			linked, files[i] = true, sysctlConf
		case "/dev/null": // how an administrator switches off a file of a package
			files[i] = ""
		}
	}
	return slices.DeleteFunc(files, func(f string) bool { return f == "" }), linked
}

func (l *look) sysctlLines(name string, b *bootSettings) []setting {
	data, err := l.h.ReadFile(l.ctx, name)
	if err != nil {
		b.complete = b.complete && errors.Is(err, fs.ErrNotExist)
		return nil
	}
	return parseSysctlFile(data, name)
}

// tuned sets the name of TuneD's profile in force; it can set sysctls after
// the files were read.
func (l *look) tuned() bool {
	const src = "/etc/tuned/active_profile"
	data, ok := l.read(src, "tuned_profile")
	if !ok || trim(data) == "" {
		l.t.SetAbsent("tuned_profile", src)
		return false
	}
	l.t.Set("tuned_profile", stack.Text(trim(data)), src)
	return true
}

// find gives the line that decides about a sysctl at the next boot. Some come
// in pairs, where setting one to more than 0 sets the other to 0.
func (b bootSettings) find(name string) (setting, bool) {
	last, at := b.last(name)
	twin, twinAt := b.last(twinOf(name))
	if twinAt > at && twin.value != "0" {
		twin.value = "0"
		return twin, true
	}
	return last, at >= 0
}

// twinOf names the other one of a pair, or "".
func twinOf(name string) string {
	for _, p := range [][2]string{
		{"vm.dirty_bytes", "vm.dirty_ratio"},
		{"vm.dirty_background_bytes", "vm.dirty_background_ratio"},
		{"vm.overcommit_kbytes", "vm.overcommit_ratio"},
	} {
		switch name {
		case p[0]:
			return p[1]
		case p[1]:
			return p[0]
		}
	}
	return ""
}

// last gives the last line that sets a sysctl, and its place; -1 when there
// is none. A line with the name itself wins over any pattern.
func (b bootSettings) last(name string) (last setting, at int) {
	at = -1
	excluded := false
	for i, s := range b.lines {
		switch {
		case s.exclude && s.name == name:
			excluded = true
		case s.exclude, s.pattern:
		case s.name == name:
			last, at = s, i
		}
	}
	if at < 0 && !excluded {
		for i, s := range b.lines {
			if ok, err := path.Match(s.name, name); s.pattern && err == nil && ok {
				last, at = s, i
			}
		}
	}
	// TuneD sets its own values over those that packages bring, and lets the
	// administrator's files win.
	if at >= 0 && b.tuned && !strings.HasPrefix(last.file, "/etc/") && !strings.HasPrefix(last.file, "/run/") {
		return setting{}, -1
	}
	return last, at
}

// parseSysctlFile reads one file in the form of sysctl.d(5).
func parseSysctlFile(data []byte, file string) []setting {
	var out []setting
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		if n > maxSysctlLines {
			break
		}
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		line, dash := strings.CutPrefix(line, "-")
		name, value, assigned := strings.Cut(line, "=")
		if !assigned && !dash {
			continue
		}
		s := setting{name: edit.SysctlName(strings.TrimSpace(name)), value: strings.TrimSpace(value), exclude: !assigned, file: file, line: n}
		s.pattern = strings.ContainsAny(s.name, "*?[")
		if s.name != "" && (s.exclude || s.value != "") {
			out = append(out, s)
		}
	}
	return out
}

// bootArguments reads sysctl.NAME=VALUE of the kernel's command line (Linux
// 5.8 and later), which the files override.
func bootArguments(cmdline string) []setting {
	var out []setting
	for word := range strings.FieldsSeq(cmdline) {
		if word == "--" {
			break
		}
		rest, ok := strings.CutPrefix(word, "sysctl.")
		name, value, assigned := strings.Cut(rest, "=")
		if ok && assigned && name != "" {
			out = append(out, setting{name: edit.SysctlName(name), value: value})
		}
	}
	return out
}
