package zfs

import (
	"context"
	"strings"

	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/stack"
)

// option is one parameter set by a modprobe.d file.
type option struct {
	name, value string
	line        int
}

// parseModprobe reads the `options zfs name=value …` lines of one modprobe.d
// file. A backslash at the end continues a line; of a continued line the
// first number is kept.
func parseModprobe(text []byte) []option {
	var found []option
	var pending string
	begin := 0
	for i, line := range strings.Split(string(text), "\n") {
		if pending == "" {
			begin = i + 1
		}
		line = pending + strings.TrimRight(line, " \t\r")
		if head, more := strings.CutSuffix(line, "\\"); more && len(head) < 64<<10 {
			pending = head + " "
			continue
		}
		pending = ""
		fields := strings.Fields(line)
		if len(fields) < 3 || fields[0] != "options" || fields[1] != "zfs" {
			continue
		}
		for _, f := range fields[2:] {
			if strings.HasPrefix(f, "#") {
				break
			}
			if name, value, ok := strings.Cut(f, "="); ok {
				found = append(found, option{name, strings.Trim(value, `"`), begin})
			}
		}
	}
	return found
}

// parseBootOptions reads the zfs.name=value words of the kernel command line.
func parseBootOptions(cmdline []byte) map[string]string {
	set := map[string]string{}
	for _, word := range strings.Fields(string(cmdline)) {
		if rest, ok := strings.CutPrefix(word, "zfs."); ok {
			if name, value, ok := strings.Cut(rest, "="); ok {
				set[name] = value
			}
		}
	}
	return set
}

// modprobeFiles lists what modprobe reads, in its order.
func modprobeFiles(ctx context.Context, h host.Reader) ([]string, error) {
	return observe.DropIns(ctx, h, "/etc/modprobe.d", "/run/modprobe.d", "/usr/local/lib/modprobe.d", "/usr/lib/modprobe.d", "/lib/modprobe.d")
}

// bootSettings collects what modprobe and the kernel command line will set.
// Of two modprobe.d files of the same name the one in /etc counts, then /run;
// of two lines the later one. The command line of the kernel is given to a
// built-in module, and modprobe passes it on to a loaded one.
func (l *look) bootSettings(ctx context.Context) map[string]stack.Next {
	set := map[string]stack.Next{}
	files, err := modprobeFiles(ctx, l.h)
	if err != nil {
		l.gap(l.module.Ref, err, "modprobe_unknown")
	}
	for _, name := range files {
		text, err := l.h.ReadFile(ctx, name)
		if err != nil {
			l.gap(l.module.Ref, err, "modprobe_unknown")
			continue
		}
		for _, o := range parseModprobe(text) {
			set[o.name] = stack.Next{Value: parameterValue(o.value), Origin: stack.Origin{From: stack.FromFile, File: name, Line: o.line}}
		}
	}
	if text, err := l.h.ReadFile(ctx, "/proc/cmdline"); err == nil {
		for name, value := range parseBootOptions(text) {
			set[name] = stack.Next{Value: parameterValue(value), Origin: stack.Origin{From: stack.FromCommand, Of: "kernel command line"}}
		}
	}
	return set
}
