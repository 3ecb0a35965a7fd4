package kernel

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/edit"
	"plumb/internal/host"
	"plumb/internal/host/proc"
	"plumb/internal/stack"
)

// Files of ours. The name makes the first the last one that is read, and the
// second the first: of sysctl.d the last line counts, of tmpfiles.d the first.
const (
	sysctlOurs   = "/etc/sysctl.d/99-zz-plumb.conf"
	tmpfilesOurs = "/etc/tmpfiles.d/00-plumb.conf"
)

// Setter sets sysctls and what the kernel shows in /sys.
type Setter struct{}

// Kinds implements change.Setter.
func (Setter) Kinds() []string { return []string{"host"} }

// Recipe implements change.Setter.
func (Setter) Recipe(ctx context.Context, h host.Reader, s *stack.Stack, w change.Want) (change.Recipe, error) {
	l := &look{ctx: ctx, h: h, t: stack.NewThing("host", ""), image: w.Image}
	l.t.Set("in_container", stack.Bool(false), "")
	if t := s.Find(w.Knob.Of); t != nil {
		if inside, known := t.Bool("in_container"); known && inside && !w.Image {
			return change.Recipe{}, &change.Refusal{Why: "it belongs to the host, and Plumb runs in a container", What: "run plumb fix on the host"}
		}
	}
	if strings.HasPrefix(w.Fact.Shown, "/sys/") {
		return l.sysfs(w)
	}
	return l.sysctl(w)
}

// sysctl sets one below /proc/sys, and for the next boot.
func (l *look) sysctl(w change.Want) (change.Recipe, error) {
	name := w.Fact.Shown
	file := proc.Sysctl(name)
	after := strings.Join(strings.Fields(w.To.String()), "\t") // as the kernel shows several numbers
	r := change.Recipe{Effect: catalog.Now}
	if !w.Image {
		now, err := l.h.ReadFile(l.ctx, file)
		if err != nil {
			return r, &change.Refusal{Why: fmt.Sprintf("this kernel has no %s: %v", name, err)}
		}
		undo, err := l.undoOf(name, strings.TrimSpace(string(now)), after)
		if err != nil {
			return r, err
		}
		r.Acts = append(r.Acts, change.Act{Switch: &change.Switch{On: file, Inspect: change.Inspection{File: file}, After: after,
			Do: []change.Op{{Write: &change.Write{File: file, Text: after}}}, Undo: undo, Patience: patienceOf(name)}})
	}
	if name == "vm.nr_hugepages" {
		r.Notes = append(r.Notes, "the kernel reserves fewer where memory is fragmented; a reservation at boot gets them all")
	}
	var err error
	if r.Lasts, err = l.lastingFile(name); err != nil {
		return r, err
	}
	if b := l.word("/etc/tuned/active_profile"); b != "" {
		r.Notes = append(r.Notes, "TuneD's profile "+b+" is active: with reapply_sysctl=0 it sets its own sysctls over these files")
	}
	r.Acts = append(r.Acts, change.Act{Edit: &change.Edit{File: r.Lasts, Form: edit.Sysctl, Key: name, Value: strings.ReplaceAll(after, "\t", " "),
		Ours: r.Lasts == sysctlOurs, Note: "Read at boot, after the other files of sysctl.d(5)."}})
	return r, nil
}

// patienceOf is how long a value may take to show, in milliseconds: huge
// pages are gathered one by one.
func patienceOf(name string) int64 {
	if name == "vm.nr_hugepages" {
		return 5000
	}
	return 0
}

// undoOf gives what brings the value of now back. Of a pair only one is in
// force, and the other shows 0: writing that 0 back is refused or without
// effect, so its twin is written.
func (l *look) undoOf(name, now, after string) ([]change.Op, error) {
	twin := twinOf(name)
	if twin == "" {
		return []change.Op{{Write: &change.Write{File: proc.Sysctl(name), Text: "{before}"}}}, nil
	}
	if after == "0" {
		return nil, &change.Refusal{Why: fmt.Sprintf("0 for %s means that %s is in force, which only setting that one does", name, twin),
			What: "set " + twin}
	}
	if now != "0" {
		return []change.Op{{Write: &change.Write{File: proc.Sysctl(name), Text: "{before}"}}}, nil
	}
	other, err := l.h.ReadFile(l.ctx, proc.Sysctl(twin))
	if err != nil {
		return nil, fmt.Errorf("read what is in force: %w", err)
	}
	return []change.Op{{Write: &change.Write{File: proc.Sysctl(twin), Text: strings.TrimSpace(string(other))}}}, nil
}

// lastingFile gives the file in which a line decides: ours, unless a file that
// is read later sets the sysctl or its twin.
func (l *look) lastingFile(name string) (string, error) {
	b := l.bootSettings()
	sets := func(s setting) bool {
		return !s.exclude && !s.pattern && (s.name == name || s.name == twinOf(name) && s.value != "0")
	}
	if b.confLast && slices.ContainsFunc(b.conf, sets) {
		return sysctlConf, nil
	}
	for _, s := range slices.Backward(b.lines) {
		if !sets(s) || s.file == sysctlConf || path.Base(s.file) <= path.Base(sysctlOurs) {
			continue
		}
		if !strings.HasPrefix(s.file, "/etc/") {
			return "", &change.Refusal{Why: fmt.Sprintf("%s sets %s to %s at boot, after every file that Plumb writes", s.where(), s.name, s.value),
				What: "mask it: ln -s /dev/null /etc/sysctl.d/" + path.Base(s.file)}
		}
		return s.file, nil
	}
	return sysctlOurs, nil
}

// sysfs sets what is below /sys: now by writing, for the next boot by
// tmpfiles.d(5).
func (l *look) sysfs(w change.Want) (change.Recipe, error) {
	pattern := w.Fact.Shown
	if i := strings.Index(pattern, "/cpu0/cpufreq/"); i >= 0 { // one policy may govern several processors
		pattern = pattern[:i] + "/cpufreq/policy*/" + path.Base(pattern)
	}
	value := w.To.String()
	r := change.Recipe{Effect: catalog.Now}
	if !w.Image {
		files, err := l.h.Glob(l.ctx, pattern)
		if err != nil || len(files) == 0 {
			return r, &change.Refusal{Why: "this kernel has no " + pattern}
		}
		for _, file := range files {
			r.Acts = append(r.Acts, writeSysfs(file, value))
		}
	}
	if strings.Contains(pattern, "transparent_hugepage/enabled") {
		r.Notes = append(r.Notes, "memory that is mapped already stays as it is: servers take it up when they are restarted")
	}
	if !w.Image && !l.exists("/usr/bin/systemd-tmpfiles") && !l.exists("/bin/systemd-tmpfiles") {
		r.Notes = append(r.Notes, "the next boot forgets it: nothing here reads tmpfiles.d(5)")
		return r, nil
	}
	r.Lasts = l.tmpfile(pattern)
	r.Acts = append(r.Acts, change.Act{Edit: &change.Edit{File: r.Lasts, Form: edit.Tmpfiles, Key: pattern, Value: value,
		Ours: r.Lasts == tmpfilesOurs, Note: "Read at boot by systemd-tmpfiles."}})
	return r, nil
}

func writeSysfs(file, value string) change.Act {
	return change.Act{Switch: &change.Switch{On: file, Inspect: change.Inspection{File: file, Choice: true}, After: value,
		Do:   []change.Op{{Write: &change.Write{File: file, Text: value}}},
		Undo: []change.Op{{Write: &change.Write{File: file, Text: "{before}"}}}}}
}

// tmpfile gives the file of tmpfiles.d that decides: of several lines for one
// path the one in the file whose name sorts first counts, so a line of the
// administrator's is edited where it stands.
func (l *look) tmpfile(pattern string) string {
	files, err := l.h.Glob(l.ctx, "/etc/tmpfiles.d/*.conf")
	if err != nil {
		return tmpfilesOurs
	}
	for _, f := range files {
		text, err := l.h.ReadFile(l.ctx, f)
		if err != nil {
			continue
		}
		if _, set, err := edit.Get(edit.Tmpfiles, text, pattern); err == nil && set {
			return f
		}
	}
	return tmpfilesOurs
}
