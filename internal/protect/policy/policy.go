package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"plumb/internal/hint"
	"plumb/internal/lab/experiment"
	"plumb/internal/product"
	"plumb/internal/protect"
	"plumb/internal/protect/keep"
	"plumb/internal/protect/replicate"
	"plumb/internal/stack"
	"plumb/internal/strictyaml"
	"plumb/internal/units"
)

// All stands for every server of the host that no other rule names.
const All = "all"

// Policy is what a person wants of the points of a host.
type Policy struct {
	File  string `json:"file"`
	Rules []Rule `json:"rules"`
}

// Rule is what is wanted for one server, or for all that are not named.
type Rule struct {
	Server    string        `json:"server"`         // All, or kind:name
	Every     time.Duration `json:"every_ns"`       // 0: no points are taken
	Mode      string        `json:"mode,omitempty"` // "" for the cheapest that is right
	Keep      keep.Rules    `json:"keep,omitzero"`  // none: nothing is pruned
	Replicate []Target      `json:"replicate,omitempty"`
	Backup    []Store       `json:"backup,omitempty"`
	Drill     *Drill        `json:"drill,omitempty"` // nil: no point is proven
	Limits    Limits        `json:"limits,omitzero"`
	Line      int           `json:"line"` // of the file
}

// Target is where points are sent.
type Target struct {
	To        string        `json:"to"`                  // tank2/copies, or ssh://user@host/tank/copies
	Every     time.Duration `json:"every_ns,omitempty"`  // 0: every point that is the newest when the policy is run
	SSH       []string      `json:"ssh,omitempty"`       // words of options of ssh
	Decrypted bool          `json:"decrypted,omitempty"` // encrypted datasets are sent unencrypted
	Verify    bool          `json:"verify,omitempty"`    // a copy of what arrived is started there
}

// Store is where points are backed up to, or the tool that backs the server up without them.
type Store struct {
	To         []string      `json:"to"`                   // URLs: one backup goes to all of them
	Recipients string        `json:"recipients"`           // file of those who can open it
	Every      time.Duration `json:"every_ns,omitempty"`   // 0: every point that is the newest when the policy is run
	LimitRate  int64         `json:"limit_rate,omitempty"` // bytes a second; 0: as fast as it goes
	LockDays   int           `json:"lock_days,omitempty"`  // how long no object may be removed; 0: they are not locked
	With       string        `json:"with,omitempty"`       // the tool; it knows itself where its backups go
}

// Target names the places in one word for people.
func (s Store) Target() string {
	if s.With != "" {
		return s.With
	}
	return strings.Join(s.To, " and ")
}

// Drill is how points are proven.
type Drill struct {
	Every  time.Duration `json:"every_ns"`
	Full   bool          `json:"full,omitempty"`     // all data is read
	Ready  bool          `json:"ready,omitempty"`    // a recovered copy is kept, which starts at once
	Limit  time.Duration `json:"limit_ns,omitempty"` // for all of it
	Memory int64         `json:"memory,omitempty"`   // of the copy's server, in bytes
}

// Limits of taking a point; 0 for those of the snapshot command.
type Limits struct {
	Wait time.Duration `json:"wait_ns,omitempty"` // for a lock
	Hold time.Duration `json:"hold_ns,omitempty"` // it
}

// For gives the rule of a server: the one that names it before the one for all; nil when there is none.
func (p *Policy) For(server stack.Ref) *Rule {
	var all *Rule
	for i := range p.Rules {
		switch p.Rules[i].Server {
		case server.String():
			return &p.Rules[i]
		case All:
			all = &p.Rules[i]
		}
	}
	return all
}

// Named gives the servers that rules name.
func (p *Policy) Named() (refs []stack.Ref) {
	for _, r := range p.Rules {
		if ref, err := stack.ParseRef(r.Server); r.Server != All && err == nil {
			refs = append(refs, ref)
		}
	}
	return refs
}

// parser reads one file.
type parser struct {
	*strictyaml.Document
	policy Policy
}

// Parse reads a policy. The error names every mistake with its line and column.
func Parse(file string, text []byte) (*Policy, error) {
	doc, root := strictyaml.Parse(file, text)
	p := parser{Document: doc, policy: Policy{File: file}}
	if root != nil {
		p.Object(root, "a policy", strictyaml.Fields{"points": func(n *strictyaml.Node) { p.Items(n, "points", p.rule) }}, "points")
		if len(p.policy.Rules) == 0 && doc.Err() == nil {
			p.Errorf(root, "it names no server: nothing would be protected")
		}
	}
	if err := doc.Err(); err != nil {
		return nil, err
	}
	return &p.policy, nil
}

func (p *parser) rule(n *strictyaml.Node) {
	r := Rule{Line: n.Line}
	p.Object(n, "a rule", strictyaml.Fields{
		"server":    func(v *strictyaml.Node) { r.Server = p.server(v) },
		"every":     func(v *strictyaml.Node) { r.Every = p.span(v, "every", time.Minute) },
		"mode":      func(v *strictyaml.Node) { r.Mode = p.mode(v) },
		"keep":      func(v *strictyaml.Node) { r.Keep = p.keep(v) },
		"replicate": func(v *strictyaml.Node) { p.Items(v, "replicate", func(t *strictyaml.Node) { p.target(&r, t) }) },
		"backup":    func(v *strictyaml.Node) { p.Items(v, "backup", func(s *strictyaml.Node) { p.store(&r, s) }) },
		"drill":     func(v *strictyaml.Node) { r.Drill = p.drill(v) },
		"limits": func(v *strictyaml.Node) {
			p.Object(v, "limits", strictyaml.Fields{
				"wait": func(v *strictyaml.Node) { r.Limits.Wait = p.span(v, "wait", time.Millisecond) },
				"hold": func(v *strictyaml.Node) { r.Limits.Hold = p.span(v, "hold", time.Millisecond) },
			})
		},
	}, "server")
	p.points(n, r)
	for _, had := range p.policy.Rules {
		if r.Server != "" && had.Server == r.Server {
			p.Errorf(n, "%s already has a rule, in line %d", r.Server, had.Line)
		}
	}
	if r.Drill != nil && r.Every > 0 && r.Drill.Every > 0 && r.Drill.Every < r.Every {
		p.Errorf(n, "a drill every %s proves nothing new, because points are taken only every %s", short(r.Drill.Every), short(r.Every))
	}
	p.policy.Rules = append(p.policy.Rules, r)
}

// points sees that a rule without points asks for nothing that is made of them.
func (p *parser) points(n *strictyaml.Node, r Rule) {
	of := func(s Store) bool { return s.With == "" }
	if r.Server == All && slices.ContainsFunc(r.Backup, func(s Store) bool { return s.With != "" }) {
		p.Errorf(n, "a tool backs up one server, and this rule is of all: give that server a rule of its own")
	}
	switch {
	case r.Every != 0 || p.Err() != nil:
	case len(r.Backup) == 0 || slices.ContainsFunc(r.Backup, of):
		p.Errorf(n, "a rule needs the key %q: how often points are taken", "every")
	case r.Drill != nil || len(r.Replicate) > 0 || r.Keep != (keep.Rules{}):
		p.Errorf(n, "without the key %q no points are taken, and drill, replicate and keep are about points", "every")
	}
}

func (p *parser) server(n *strictyaml.Node) string {
	text := p.Text(n, "server")
	if text == "" || text == All {
		return text
	}
	ref, err := stack.ParseRef(text)
	switch {
	case err != nil || ref.Name == "":
		p.Errorf(n, "server is all, or a server as plumb check names it, such as %s:3306, not %q", product.Kinds()[0], text)
	case !product.IsServer(ref.Kind):
		p.Errorf(n, "%q is not a kind of server%s", ref.Kind, strictyaml.Meant(ref.Kind, product.Kinds()))
	}
	return text
}

// mode reads one of the modes, or auto for the cheapest that is right.
func (p *parser) mode(n *strictyaml.Node) string {
	mode := p.OneOf(n, "mode", "auto", protect.ModeCrash, protect.ModeLocked, protect.ModeBackupAPI, protect.ModeFreeze)
	if mode == "auto" {
		return ""
	}
	return mode
}

func (p *parser) keep(n *strictyaml.Node) keep.Rules {
	text := p.Text(n, "keep")
	if text == "" {
		return keep.Rules{}
	}
	rules, err := keep.Parse(text)
	if err != nil {
		p.Errorf(n, "%v (%s)", err, hint.Of(err))
	}
	return rules
}

func (p *parser) target(r *Rule, n *strictyaml.Node) {
	var t Target
	p.Object(n, "a target", strictyaml.Fields{
		"to": func(v *strictyaml.Node) {
			t.To = p.Text(v, "to")
			if _, err := replicate.ParseTarget(t.To); err != nil && t.To != "" {
				p.Errorf(v, "%v (%s)", err, hint.Of(err))
			}
		},
		"every": func(v *strictyaml.Node) { t.Every = p.span(v, "every", time.Minute) },
		"ssh": func(v *strictyaml.Node) {
			p.Items(v, "ssh", func(w *strictyaml.Node) { t.SSH = append(t.SSH, p.Text(w, "ssh")) })
		},
		"decrypted": func(v *strictyaml.Node) { t.Decrypted = p.Switch(v, "decrypted") },
		"verify":    func(v *strictyaml.Node) { t.Verify = p.Switch(v, "verify") },
	}, "to")
	if at, err := replicate.ParseTarget(t.To); err == nil && at.Host == "" && len(t.SSH) > 0 {
		p.Errorf(n, "%s is on this host: ssh has no effect", t.To)
	}
	for _, had := range r.Replicate {
		if had.To == t.To {
			p.Errorf(n, "%s is listed twice", t.To)
		}
	}
	r.Replicate = append(r.Replicate, t)
}

func (p *parser) store(r *Rule, n *strictyaml.Node) {
	var s Store
	p.Object(n, "a backup", strictyaml.Fields{
		"to": func(v *strictyaml.Node) {
			p.Items(v, "to", func(u *strictyaml.Node) {
				text := p.Text(u, "to")
				if text != "" && !isPlace(text) {
					p.Errorf(u, "to lists s3://bucket/prefix and file:///directory, not %q", text)
				}
				s.To = append(s.To, text)
			})
		},
		"recipients": func(v *strictyaml.Node) {
			if s.Recipients = p.Text(v, "recipients"); s.Recipients != "" && !strings.HasPrefix(s.Recipients, "/") {
				p.Errorf(v, "recipients is a file by its absolute path, not %q", s.Recipients)
			}
		},
		"every":      func(v *strictyaml.Node) { s.Every = p.span(v, "every", time.Minute) },
		"limit_rate": func(v *strictyaml.Node) { s.LimitRate = p.size(v, "limit_rate", 1<<10) },
		"lock_days": func(v *strictyaml.Node) {
			days := p.Number(v, "lock_days")
			if s.LockDays = int(days); days != float64(s.LockDays) || s.LockDays < 1 || s.LockDays > 36500 {
				p.Errorf(v, "lock_days is a whole number of days from 1 to 36500")
			}
		},
		"with": func(v *strictyaml.Node) {
			if s.With = p.Text(v, "with"); s.With != "" && strings.Trim(s.With, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
				p.Errorf(v, "with is the name of a tool, as plumb backup --with takes it, not %q", s.With)
			}
		},
	})
	p.whole(n, s)
	for _, had := range r.Backup {
		if had.Target() == s.Target() {
			p.Errorf(n, "%s is listed twice", s.Target())
		}
	}
	r.Backup = append(r.Backup, s)
}

// isPlace tells whether a text is where backups can go.
func isPlace(text string) bool {
	return (strings.HasPrefix(text, "s3://") || strings.HasPrefix(text, "file:///")) && !strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c == 0x7f })
}

// whole sees that a backup has the keys that it needs, and none that say nothing.
func (p *parser) whole(n *strictyaml.Node, s Store) {
	switch {
	case s.With != "" && (len(s.To) > 0 || s.Recipients != "" || s.LimitRate != 0 || s.LockDays != 0):
		p.Errorf(n, "%s knows where its backups go and who opens them: leave out to, recipients, limit_rate and lock_days", s.With)
	case s.With != "" && s.Every == 0:
		p.Errorf(n, "a backup with %s needs the key %q", s.With, "every")
	case s.With == "" && len(s.To) == 0:
		p.Errorf(n, "a backup needs the key %q", "to")
	case s.With == "" && s.Recipients == "":
		p.Errorf(n, "a backup needs the key %q", "recipients")
	}
}

// backs tells whether anything is backed up.
func (p *Policy) backs() bool {
	return slices.ContainsFunc(p.Rules, func(r Rule) bool { return len(r.Backup) > 0 })
}

func (p *parser) drill(n *strictyaml.Node) *Drill {
	d := &Drill{}
	p.Object(n, "drill", strictyaml.Fields{
		"every":    func(v *strictyaml.Node) { d.Every = p.span(v, "every", time.Minute) },
		"checks":   func(v *strictyaml.Node) { d.Full = p.OneOf(v, "checks", "quick", "full") == "full" },
		"ready":    func(v *strictyaml.Node) { d.Ready = p.Switch(v, "ready") },
		"max_time": func(v *strictyaml.Node) { d.Limit = p.span(v, "max_time", time.Minute) },
		"memory":   func(v *strictyaml.Node) { d.Memory = p.size(v, "memory", 1<<20) },
	}, "every")
	return d
}

func (p *parser) size(n *strictyaml.Node, what string, least int64) int64 {
	text := p.Text(n, what)
	bytes, err := experiment.ParseBytes(text)
	if text != "" && (err != nil || int64(bytes) < least) {
		p.Errorf(n, "%s is a size such as 512M or 2G, not %q", what, text)
	}
	return int64(bytes)
}

// longest is more than anybody waits for.
const longest = 5 * 366 * 24 * time.Hour

// span reads a length of time: 5s, 15m, 6h, 1d, 2w.
func (p *parser) span(n *strictyaml.Node, what string, least time.Duration) time.Duration {
	text := p.Text(n, what)
	if text == "" {
		return 0
	}
	d, err := parseSpan(text)
	switch {
	case err != nil:
		p.Errorf(n, "%s is a length of time such as 15m, 6h, 1d or 2w, not %q", what, text)
	case d < least || d > longest:
		p.Errorf(n, "%s is between %s and five years, not %s", what, short(least), text)
	}
	return d
}

func parseSpan(text string) (time.Duration, error) {
	for unit, hours := range map[string]int{"d": 24, "w": 7 * 24} {
		if n, ok := strings.CutSuffix(text, unit); ok {
			d, err := time.ParseDuration(n + "h")
			if err != nil || d > longest/time.Duration(hours) {
				return 0, fmt.Errorf("%q is not a length of time", text)
			}
			return d * time.Duration(hours), nil
		}
	}
	return time.ParseDuration(text)
}

// short writes a length of time as it is typed here.
func short(d time.Duration) string {
	const day = 24 * time.Hour
	if d >= day && d%day == 0 {
		return fmt.Sprintf("%dd", int64(d/day))
	}
	return units.Short(d)
}
