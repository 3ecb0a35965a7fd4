package record

import "math/bits"

// What is left of a column when its prediction is taken off are whole numbers,
// mostly small. Each is written as how many bits it has, its sign, and its bits
// below the highest: the first three of those are learned, the others are chance.

// shape is what columns have in common that are learned of together: how they
// are predicted, and how many bits the largest of their rests has.
type shape struct {
	mode   byte
	bits   int
	signed bool
}

const mostBits = 64

// habits are what is known of the columns of one shape.
type habits struct {
	zero  [16]chances
	width [16][mostBits]chances // whether it has so many bits fewer than the largest
	minus [3]chances            // by the sign of the one before
	upper [8][8]chances         // by bits fewer than the largest: the first bits below the highest
}

// lore is all that is learned in a block.
type lore map[shape]*habits

func (l lore) of(s shape) *habits {
	if l[s] == nil {
		l[s] = &habits{}
	}
	return l[s]
}

// past is what was seen last in a column.
type past struct{ one, two, sign int }

// class tells how large a rest of so many bits is among those of its column.
func class(width, most int) int {
	switch {
	case width == 0:
		return 0
	case most-width >= 3:
		return 1
	case most-width >= 1:
		return 2
	}
	return 3
}

func (p past) context() int { return 4*p.one + p.two }

func (p *past) see(s shape, width int, minus bool) {
	p.two, p.one = p.one, class(width, s.bits)
	switch {
	case width == 0:
		p.sign = 0
	case minus:
		p.sign = 2
	default:
		p.sign = 1
	}
}

// learnedBits is how many bits below the highest are learned of.
const learnedBits = 3

// shapeOf gives the shape of rests.
func shapeOf(mode byte, rests []int64) shape {
	s := shape{mode: mode}
	for _, r := range rests {
		s.signed = s.signed || r < 0
		s.bits = max(s.bits, bits.Len64(magnitude(r)))
	}
	return s
}

// rests writes the rests of a column.
func (e *coder) rests(l lore, s shape, list []int64) {
	if s.bits == 0 {
		return
	}
	k, p := l.of(s), past{}
	for _, r := range list {
		m := magnitude(r)
		width, at := bits.Len64(m), p.context()
		if e.bit(&k.zero[at], m == 0); m != 0 {
			for w := s.bits; w > 1; w-- {
				if e.bit(&k.width[at][s.bits-w], w == width); w == width {
					break
				}
			}
			if s.signed {
				e.bit(&k.minus[p.sign], r < 0)
			}
			e.below(&k.upper[min(s.bits-width, 7)], m, width-1)
		}
		p.see(s, width, r < 0)
	}
}

// below writes the n lowest bits of m.
func (e *coder) below(c *[8]chances, m uint64, n int) {
	node := 1
	for i := 0; i < learnedBits && n > 0; i++ {
		n--
		bit := int(m >> n & 1)
		e.bit(&c[node], bit == 1)
		node = 2*node + bit
	}
	for n > 0 {
		step := min(n, 8)
		n -= step
		e.plain(uint32(m>>n)&(1<<step-1), step)
	}
}

// rests reads n that rests wrote.
func (d *decoder) rests(l lore, s shape, n int) []int64 {
	list := make([]int64, n)
	if s.bits == 0 {
		return list
	}
	k, p := l.of(s), past{}
	for i := range list {
		width, at, minus := 0, p.context(), false
		if !d.bit(&k.zero[at]) {
			width = s.bits
			for width > 1 && !d.bit(&k.width[at][s.bits-width]) {
				width--
			}
			minus = s.signed && d.bit(&k.minus[p.sign])
			m := d.below(&k.upper[min(s.bits-width, 7)], width-1)
			if list[i] = int64(m); minus {
				list[i] = -list[i]
			}
		}
		p.see(s, width, minus)
	}
	return list
}

func (d *decoder) below(c *[8]chances, n int) uint64 {
	m, node := uint64(1), 1
	for i := 0; i < learnedBits && n > 0; i++ {
		n--
		bit := 0
		if d.bit(&c[node]) {
			bit = 1
		}
		m, node = m<<1|uint64(bit), 2*node+bit
	}
	for n > 0 {
		step := min(n, 8)
		n -= step
		m = m<<step | uint64(d.plain(step))
	}
	return m
}
