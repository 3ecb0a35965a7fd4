package budget

import (
	"slices"

	"plumb/internal/stack"
)

// Own gives a server a domain of its own in place of the one it draws on: of that, limit bytes, or what the others leave where that is
// less. Only what the server takes counts against it. Where it draws on none, or that is not known, nothing changes.
func Own(s *stack.Stack, server stack.Ref, limit int64) {
	all := compute(s)
	i := slices.IndexFunc(all, func(d Domain) bool { return slices.Contains(d.Servers, server) })
	t := s.Find(server)
	if i < 0 || t == nil {
		return
	}
	own := all[i].share(server, limit)
	forget(s, func(r stack.Ref) bool { return r == own.Ref })
	var obs stack.Observation
	own.observe(&obs)
	s.Add("budget", obs)
	delete(t.Links, "memory")
	t.Link("memory", own.Ref)
}

// share is the part of a domain that is one server's. An ARC without a limit gives way, so it takes nothing from it.
func (d Domain) share(server stack.Ref, limit int64) Domain {
	own := Domain{Ref: stack.Ref{Kind: "memory", Name: server.String()}, Servers: []stack.Ref{server}, Share: true, Unmeasured: "nobody measures a part of a domain"}
	left := d.Limit
	for _, p := range d.Parts {
		switch {
		case p.Of == server:
			own.Parts = append(own.Parts, p)
		case p.Of.Kind != "zfs" || p.Expected == p.Worst:
			left -= p.Expected.mid()
		}
	}
	for _, u := range d.Unknown {
		if u.Of == server {
			own.Unknown = append(own.Unknown, u)
		}
	}
	own.Limit = min(limit, left)
	return own
}
