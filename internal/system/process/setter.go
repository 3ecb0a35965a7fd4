package process

import (
	"context"
	"fmt"
	"path"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/edit"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/stack"
)

// limitsOurs is our file of limits.conf(5), the last one in the order of names.
const limitsOurs = "/etc/security/limits.d/zz-plumb.conf"

// Setter sets the limits that a server is started with: in a drop-in of its
// unit where systemd started it, otherwise for its user's sessions.
type Setter struct{}

// Kinds implements change.Setter.
func (Setter) Kinds() []string { return []string{"process"} }

// Recipe implements change.Setter.
func (Setter) Recipe(ctx context.Context, h host.Reader, s *stack.Stack, w change.Want) (change.Recipe, error) {
	if w.Image {
		return change.Recipe{}, &change.Refusal{Why: "a process is not a file of an image", What: "put a drop-in for its unit into the image"}
	}
	p := s.Find(w.Knob.Of)
	most := hardLimit(ctx, h, p.Ref.Name, w)
	unit, ofUser := observe.Unit(s, p)
	if own := observe.OwnUnit(ctx, h, s, p); own != "" {
		return ofUnit(ctx, h, own, w, most)
	}
	contained, known := p.Bool("own_root")
	switch {
	case !known || contained:
		return change.Recipe{}, &change.Refusal{Why: "its limits are set by whatever started it: a container's runtime, or something not visible from here", What: "docker run --ulimit, or the like"}
	case ofUser:
		return change.Recipe{}, &change.Refusal{Why: "it was started by a user's own systemd, which does not read the system's files", What: "systemctl --user edit its unit"}
	case unit != "":
		return change.Recipe{}, &change.Refusal{Why: "it runs in " + unit + ", which is not the unit that starts it, according to systemd: a drop-in would affect everything else there too",
			What: "start it by a unit of its own, or set the limit where it is started, as with ulimit"}
	}
	return ofSessions(ctx, h, p.Text("user"), w, most)
}

// hardLimit reads the hard limit in force. Setting a soft one alone must not
// lower it: servers raise their own soft limit up to it.
func hardLimit(ctx context.Context, h host.Reader, pid string, w change.Want) hard {
	names := map[string]string{"nofile_soft": "Max open files", "nproc_soft": "Max processes", "memlock_soft": "Max locked memory"}
	text, err := h.ReadFile(ctx, "/proc/"+pid+"/limits")
	if err != nil {
		return hard{}
	}
	v, ok := parseLimits(text, names[w.Knob.Name])
	return hard{v, ok}
}

// hard is the hard limit of a process.
type hard struct {
	limit
	known bool
}

// above tells whether it is higher than what is wanted.
func (l hard) above(to int64) bool { return l.known && (l.hardNone || l.limit.hard > to) }

// ofUnit sets a limit in a drop-in of the unit.
func ofUnit(ctx context.Context, h host.Reader, unit string, w change.Want, most hard) (change.Recipe, error) {
	e := &change.Edit{Form: edit.Unit, Key: "Service/" + w.Fact.Shown, Value: w.To.String(), Ours: true,
		File: "/etc/systemd/system/" + unit + ".d/zz-plumb.conf", Note: "Read by systemd after the unit itself and its other drop-ins."}
	if to, ok := w.To.Int(); ok && most.above(to) { // soft:hard
		e.Value += ":infinity"
		if !most.hardNone {
			e.Value = fmt.Sprintf("%d:%d", to, most.hard)
		}
	}
	var dropIns []string
	for _, dir := range []string{"/etc", "/run", "/usr/lib", "/lib"} {
		more, err := h.Glob(ctx, dir+"/systemd/system/"+unit+".d/*.conf")
		if err != nil {
			return change.Recipe{}, fmt.Errorf("list the drop-ins of %s: %w", unit, err)
		}
		dropIns = append(dropIns, more...)
	}
	if err := beaten(ctx, h, e, dropIns); err != nil {
		return change.Recipe{}, err
	}
	e.Apply = &change.Op{Argv: []string{"systemctl", "daemon-reload"}}
	return change.Recipe{Effect: catalog.Restart, Waits: "a restart of " + unit, Lasts: e.File, Acts: []change.Act{{Edit: e}},
		Restart: []change.Op{{Argv: []string{"systemctl", "restart", unit}}}}, nil
}

// ofSessions sets a limit for the sessions of a user.
func ofSessions(ctx context.Context, h host.Reader, user string, w change.Want, most hard) (change.Recipe, error) {
	if user == "" {
		return change.Recipe{}, &change.Refusal{Why: "neither its unit nor its user is known", What: "set the limit where the server is started"}
	}
	item, value, kind := strings.ToLower(strings.TrimPrefix(w.Fact.Shown, "Limit")), w.To.String(), "-"
	if to, ok := w.To.Int(); ok {
		if most.above(to) {
			kind = "soft"
		}
		if item == "memlock" {
			value = fmt.Sprint(to >> 10) // limits.conf counts in KiB
		}
	}
	e := &change.Edit{File: limitsOurs, Form: edit.Limits, Key: user + "/" + kind + "/" + item, Value: value, Ours: true, Note: "Read by pam_limits when a session begins."}
	files, err := h.Glob(ctx, "/etc/security/limits.d/*.conf")
	if err != nil {
		return change.Recipe{}, fmt.Errorf("list limits.d: %w", err)
	}
	if err := beaten(ctx, h, e, files); err != nil {
		return change.Recipe{}, err
	}
	return change.Recipe{Effect: catalog.Restart, Waits: "a restart of the server", Lasts: e.File, Acts: []change.Act{{Edit: e}},
		Notes: []string{"no unit of systemd started it: only what is started from a session (su, ssh, cron) reads " + limitsOurs}}, nil
}

// beaten refuses when a file that is read after ours sets the same.
func beaten(ctx context.Context, h host.Reader, e *change.Edit, files []string) error {
	for _, f := range files {
		if path.Base(f) <= path.Base(e.File) {
			continue
		}
		text, err := h.ReadFile(ctx, f)
		if err != nil {
			continue
		}
		if v, set, err := edit.Get(e.Form, text, e.Key); err == nil && set && v != e.Value {
			return &change.Refusal{Why: fmt.Sprintf("%s, which is read after every file that Plumb writes, sets it to %s", f, v), What: "set it there by hand"}
		}
	}
	return nil
}
