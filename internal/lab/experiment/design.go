package experiment

import (
	"maps"
	"reflect"
	"time"

	"plumb/internal/draw"
)

// A turn of a server in the interleaved design. It is long enough for hundreds
// of transactions, and short against how a machine's speed wanders.
const (
	Turn   = 2 * time.Second        // measured, about
	Settle = 500 * time.Millisecond // before that: sessions connect, the processor's caches fill
)

// Turns tells how many turns each server has, and how long one is measured. They
// are even in number: there are as many forth as back.
func Turns(x Experiment) (n int, each time.Duration) {
	n = 2 * max(1, int((x.Measure+Turn)/(2*Turn)))
	return n, x.Measure / time.Duration(n)
}

// Together tells whether the trials of a block are carried out together, and
// none can be done again without the others.
func (x Experiment) Together() bool { return x.Design == ABBA || x.Design == Interleaved }

// interleaved checks what servers that take turns ask for.
func (r *reader) interleaved() {
	if r.x.Design != Interleaved || len(r.doc.Errors()) > 0 {
		return
	}
	if len(r.x.Arms) < 2 {
		r.doc.Errorf(r.base, "design interleaved compares arms that take turns, and there is one")
		return
	}
	for _, a := range r.x.Arms {
		if why := NoTurns(a.Setup); why != "" {
			r.doc.Errorf(r.base, "design interleaved: arm %s: %s; use blocks", a.Name, why)
			return
		}
	}
}

// NoTurns tells why a set-up cannot stand still while others are measured; ""
// when it can.
func NoTurns(u Setup) string {
	switch {
	case u.Server == nil:
		return "there is no server that could be suspended"
	case u.Volume.Kind == Zpool || u.Volume.Kind == Dataset:
		return "servers on ZFS would share the ARC"
	case u.Volume.Profile != "":
		return "a volume with a limit cannot exist twice at once"
	case u.Beside != nil:
		return "what runs beside it would not be suspended"
	case len(u.Host) > 0:
		return "settings of the host are the same for all servers"
	}
	return ""
}

// abba checks what switching a running server there and back asks for.
func (r *reader) abba() {
	if r.x.Design != ABBA || len(r.doc.Errors()) > 0 {
		return
	}
	at := r.base
	if len(r.x.Arms) != 2 {
		r.doc.Errorf(at, "design abba compares exactly two arms, and there are %d", len(r.x.Arms))
		return
	}
	a, b := r.x.Arms[0].Setup, r.x.Arms[1].Setup
	if a.Server == nil || b.Server == nil {
		r.doc.Errorf(at, "design abba switches settings of a server, and there is none")
		return
	}
	one, two := a.Server.Settings, b.Server.Settings
	if !reflect.DeepEqual(unset(a), unset(b)) {
		r.doc.Errorf(at, "design abba is for arms that differ only in server.settings, because one server is switched there and back; use blocks")
	}
	for name := range sorted(both(one, two)) {
		_, first := one[name]
		if _, second := two[name]; first != second {
			r.doc.Errorf(at, "design abba: only one arm sets %s; give both a value, so that it can be switched back", name)
		}
	}
}

// unset gives a set-up without the settings of its server.
func unset(u Setup) Setup {
	s := *u.Server
	s.Settings = nil
	u.Server = &s
	return u
}

func both(a, b map[string]string) map[string]string {
	out := maps.Clone(a)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, b)
	return out
}

// Streams of random numbers of an experiment's seed.
const (
	orderStream = 0x1ab0
	loadStream  = 0x1ab1
)

// Order gives the trials of a block, from 1, in the order in which they are
// carried out: every arm once, in an order drawn from the experiment's seed
// and the block alone. So it is the same after a crash, on another machine and
// with any later Plumb.
//
// In ABBA the block is one server that is switched there and back: of its two
// trials the first names the arm of the first and last period.
func Order(x Experiment, block int) []Trial {
	seeds := draw.Keyed(x.Seed, loadStream, int64(block))
	seed := seeds.Uint64() >> 11 // 53 bits, which every ledger keeps exactly
	trials := make([]Trial, len(x.Arms))
	for i, a := range x.Arms {
		trials[i] = Trial{Block: block, Arm: a.Name, Seed: seed}
	}
	s := draw.Keyed(x.Seed, orderStream, int64(block))
	for i := len(trials) - 1; i > 0; i-- {
		j := s.Below(int64(i) + 1)
		trials[i], trials[j] = trials[j], trials[i]
	}
	for i := range trials {
		trials[i].Position = i + 1
	}
	return trials
}

// All gives the trials of all blocks, in order.
func All(x Experiment) []Trial {
	var all []Trial
	for block := range x.Most {
		all = append(all, Order(x, block+1)...)
	}
	return all
}
