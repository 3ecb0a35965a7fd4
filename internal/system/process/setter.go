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
		return change.Recipe{}, &change.Refusal{Why: "a process is no file of an image", What: "put a drop-in for its unit into the image"}
	}
	p := s.Find(w.Knob.Of)
	if contained, known := p.Bool("own_mounts"); !known || contained {
		return change.Recipe{}, &change.Refusal{Why: "who started it decides about its limits, and that is a container's runtime, or not visible from here", What: "docker run --ulimit, or the like"}
	}
	r := change.Recipe{Effect: catalog.Restart, Waits: "a restart of the server"}
	e := &change.Edit{Value: w.To.String(), Ours: true}
	if unit := unitOf(s, p); unit != "" {
		e.File, e.Form, e.Key = "/etc/systemd/system/"+unit+".d/zz-plumb.conf", edit.Unit, "Service/"+w.Fact.Shown
		e.Note = "Read by systemd after the unit itself and its other drop-ins."
		r.Waits = "a restart of " + unit
		if _, err := h.Stat(ctx, "/run/systemd/system"); err == nil {
			e.Apply = &change.Op{Argv: []string{"systemctl", "daemon-reload"}}
			r.Restart = []change.Op{{Argv: []string{"systemctl", "restart", unit}}}
		}
	} else {
		user := p.Text("user")
		if user == "" {
			return r, &change.Refusal{Why: "neither its unit nor its user is known", What: "set the limit where the server is started"}
		}
		item := strings.ToLower(strings.TrimPrefix(w.Fact.Shown, "Limit"))
		if n, ok := w.To.Int(); ok && item == "memlock" {
			e.Value = fmt.Sprint(n >> 10) // limits.conf counts in KiB
		}
		e.File, e.Form, e.Key = limitsOurs, edit.Limits, user+"/-/"+item
		e.Note = "Read by pam_limits when a session begins."
		r.Notes = []string{"no unit of systemd started it: only what is started from a session (su, ssh, cron) reads " + limitsOurs}
	}
	r.Lasts, r.Acts = e.File, []change.Act{{Edit: e}}
	return r, nil
}

// unitOf is the unit of systemd that a process belongs to, "" for none.
func unitOf(s *stack.Stack, p *stack.Thing) string {
	groups, _ := s.Follow(p, "cgroup")
	for _, g := range groups {
		if unit := path.Base(g.Text("path")); strings.HasSuffix(unit, ".service") && !strings.HasPrefix(unit, "user@") {
			return unit
		}
	}
	return ""
}
