package volume

import (
	"math"

	"plumb/internal/lab/experiment"
)

// paces are what a device may do in a second, or did: requests and bytes of
// both directions. 0 as a limit is none.
type paces struct {
	readIOPS, writeIOPS, readBytes, writeBytes float64
}

// share divides what reads and writes may do together. The kernel limits each
// direction alone, so the part of each follows what it uses.
type share struct {
	read, write float64    // a second
	debt        float64    // done beyond what was allowed
	seen        [2]float64 // what reads and writes did a second, smoothed
}

const (
	wanting    = 0.93 // of its part: a direction that uses more would use more still
	headroom   = 1.2  // left to a direction that does not want more
	leastWay   = 0.2  // of all: so that a direction that begins is seen soon; what that is too much goes into the debt
	repay      = 0.3  // s, in which what was too much is held back
	mostDebt   = 0.5  // s of what is allowed
	noDebt     = 0.05 // s of what is allowed: no more than how coarsely it is counted
	noChange   = 0.03 // of all: a limit that is written anew begins to count anew in the kernel, which disturbs both directions
	steady     = 100  // requests: where fewer are done in a period, chance would be followed
	smooth     = 0.5  // weight of the newest period
	verySmooth = 0.3  // and where few are done
	grain      = 10   // a second: the kernel lets whole requests through each tenth of a second, and forgets the rest of one
)

// step divides total anew after dt seconds in which reads and writes did so
// much a second. When both want more than they get they end at halves, which
// is a choice: a volume serves whoever has more requests waiting, and how many
// wait before the limit cannot be seen.
func (s *share) step(total, read, write, dt float64) {
	s.debt = min(max(s.debt+(read+write-total)*dt, 0), mostDebt*total)
	room := max(total-max(s.debt-noDebt*total, 0)/repay, total/2)
	was := *s
	s.see(read, write, total*dt)
	wantRead, wantWrite := s.wants(read, s.seen[0], s.read, total*dt), s.wants(write, s.seen[1], s.write, total*dt)
	read, write = min(read, s.seen[0]), min(write, s.seen[1])
	least := leastWay * total
	switch {
	case wantRead && wantWrite:
		s.read += (room/2 - s.read) / 2
		s.write = room - s.read
	case wantRead:
		s.read, s.write = room-s.seen[1], roomy(was.write, s.seen[1])
	case wantWrite:
		s.read, s.write = roomy(was.read, s.seen[0]), room-s.seen[0]
	default:
		slack := max(room-read-write, 0)
		s.read, s.write = read+slack/2, write+slack/2
	}
	s.read, s.write = grained(max(s.read, least), total), grained(max(s.write, least), total)
	if near := noChange * total; math.Abs(s.read-was.read) < near && math.Abs(s.write-was.write) < near {
		s.read, s.write = was.read, was.write
	}
}

// grained rounds a part to what the kernel tells apart: of 199 requests a
// second it would make 190. What is too much goes into the debt; of very few
// a grain would be more than the debt can hold back.
func grained(part, total float64) float64 {
	if total < 10*grain {
		return part
	}
	return math.Round(part/grain) * grain
}

// see smooths what was done, except that a direction that stops has stopped.
func (s *share) see(read, write, requests float64) {
	weight := smooth
	if requests < steady {
		weight = verySmooth
	}
	for i, now := range []float64{read, write} {
		if s.seen[i] += (now - s.seen[i]) * weight; now < s.seen[i]/4 && requests >= steady {
			s.seen[i] = now
		}
	}
}

// wants tells whether a direction did nearly all it might.
func (s *share) wants(now, smoothed, allowed, requests float64) bool {
	if requests < steady {
		now = smoothed
	}
	return now >= wanting*allowed
}

// roomy keeps the part of a direction that does not want more, as long as it
// is neither tight nor wide.
func roomy(was, used float64) float64 {
	if was >= used*1.05 && was <= used*1.5 {
		return was
	}
	return used * headroom
}

// bucket keeps credits. It may go a little below 0: what the kernel let
// through too much is paid back.
type bucket struct {
	level, most, income float64 // income: a second
}

func (b *bucket) step(used, dt float64) {
	b.level = min(max(b.level+(b.income-used)*dt, -mostDebt*b.income), b.most)
}

// allows is what may be done a second. The last credits are spent over some
// tenths of a second.
func (b *bucket) allows(burst float64) float64 {
	return min(burst, max(b.income+b.level/repay, b.income/2))
}

// regulator decides what one device may do, from what it did.
type regulator struct {
	p        experiment.Profile
	io, by   share
	credits  *bucket // nil: none are kept
	byCredit *bucket
	passed   float64 // s since it began
}

func newRegulator(p experiment.Profile) *regulator {
	r := &regulator{p: p}
	if b := p.Burst; b != nil {
		r.credits = &bucket{b.Credits * b.Full, b.Credits, p.IOPS.Both}
		if b.Bytes > 0 {
			r.byCredit = &bucket{b.ByteCredits * b.Full, b.ByteCredits, p.Bytes.Both}
		}
	}
	io, by := r.total()
	r.io, r.by = share{read: io / 2, write: io / 2}, share{read: by / 2, write: by / 2}
	return r
}

// moves tells whether the limits change with what is done.
func (r *regulator) moves() bool { return r.p.IOPS.Both > 0 || r.p.Bytes.Both > 0 }

// total is what reads and writes may do together now. Requests that count as
// several, because they are large, make no more bytes than requests that
// count as one.
func (r *regulator) total() (io, by float64) {
	io, by = r.p.IOPS.Both, r.p.Bytes.Both
	if r.credits != nil {
		io = r.credits.allows(r.p.Burst.IOPS)
	}
	if r.byCredit != nil {
		by = r.byCredit.allows(r.p.Burst.Bytes)
	}
	if most := io * float64(r.p.Unit); most > 0 && by > 0 {
		by = min(by, most)
	}
	if r.dips() {
		io, by = io*r.p.Dip.To, by*r.p.Dip.To
	}
	return io, by
}

// dips tells whether the volume allows less just now.
func (r *regulator) dips() bool {
	d := r.p.Dip
	return d != nil && math.Mod(r.passed, d.Every.Seconds()) >= (d.Every-d.For).Seconds()
}

// step takes in what was done for dt seconds.
func (r *regulator) step(did paces, dt float64) {
	r.passed += dt
	requests, bytes := did.readIOPS+did.writeIOPS, did.readBytes+did.writeBytes
	if r.p.Unit > 0 {
		requests = max(requests, bytes/float64(r.p.Unit))
	}
	if r.credits != nil {
		r.credits.step(requests, dt)
	}
	if r.byCredit != nil {
		r.byCredit.step(bytes, dt)
	}
	io, by := r.total()
	r.io.step(io, did.readIOPS, did.writeIOPS, dt)
	r.by.step(by, did.readBytes, did.writeBytes, dt)
	if r.credits != nil {
		r.io.debt = 0 // the bucket has it
	}
	if r.byCredit != nil {
		r.by.debt = 0
	}
}

// limits are what is to be in force.
func (r *regulator) limits() paces {
	l := paces{r.p.IOPS.Read, r.p.IOPS.Write, r.p.Bytes.Read, r.p.Bytes.Write}
	if r.p.IOPS.Both > 0 {
		l.readIOPS, l.writeIOPS = r.io.read, r.io.write
	}
	if r.p.Bytes.Both > 0 {
		l.readBytes, l.writeBytes = r.by.read, r.by.write
	}
	return l
}
