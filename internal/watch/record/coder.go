package record

// An adaptive range coder for yes and no (Martin 1979; with carry as in LZMA):
// what is likely takes a fraction of a bit. How likely something is, both sides
// learn from what came before in the same block, so no block leans on another.

// chances is how often something was so and not so: the estimate of
// Krichevsky and Trofimov, which learns from few.
type chances struct{ no, yes uint16 }

const (
	chanceBits = 15
	longMemory = 1 << 12 // of this many only half is kept, so that what changes is learned anew
	least      = 1 << 24 // below, the range is made wider
)

// yesIn gives how likely yes is, in parts of 1 << chanceBits; neither is impossible.
func (c *chances) yesIn() uint32 {
	p := (2*uint32(c.yes) + 1) << chanceBits / (2*(uint32(c.yes)+uint32(c.no)) + 2)
	return max(1, min(p, 1<<chanceBits-1))
}

func (c *chances) learn(yes bool) {
	if yes {
		c.yes++
	} else {
		c.no++
	}
	if c.yes+c.no >= longMemory {
		c.yes, c.no = c.yes/2, c.no/2
	}
}

// coder writes.
type coder struct {
	out     []byte
	low     uint64
	wide    uint32
	held    byte // waits for a carry, with
	full    int  // so many bytes 0xff behind it
	started bool
}

func newCoder() *coder { return &coder{wide: 1<<32 - 1} }

func (e *coder) bit(c *chances, yes bool) {
	part := e.wide >> chanceBits * c.yesIn()
	if yes {
		e.wide = part
	} else {
		e.low += uint64(part)
		e.wide -= part
	}
	c.learn(yes)
	e.widen()
}

// plain writes n bits, at most eight, of which any value is as likely.
func (e *coder) plain(v uint32, n int) {
	e.wide >>= n
	e.low += uint64(e.wide) * uint64(v)
	e.widen()
}

func (e *coder) widen() {
	for e.wide < least {
		e.wide <<= 8
		e.shift()
	}
}

func (e *coder) shift() {
	if e.low>>24 == 0xff { // a carry could still come
		e.full++
		e.low = e.low & (least - 1) << 8
		return
	}
	carry := byte(e.low >> 32)
	if e.started {
		e.out = append(e.out, e.held+carry)
	}
	for ; e.full > 0; e.full-- {
		e.out = append(e.out, 0xff+carry)
	}
	e.started, e.held = true, byte(e.low>>24)
	e.low = e.low & (least - 1) << 8
}

// end gives what was written. Zeros at its end need not be there.
func (e *coder) end() []byte {
	for range 5 {
		e.shift()
	}
	n := len(e.out)
	for n > 0 && e.out[n-1] == 0 {
		n--
	}
	return e.out[:n]
}

// decoder reads what a coder wrote. Behind the end of what it is given it reads zeros.
type decoder struct {
	data []byte
	code uint32
	wide uint32
}

func newDecoder(data []byte) *decoder {
	d := &decoder{data: data, wide: 1<<32 - 1}
	for range 4 {
		d.code = d.code<<8 | d.next()
	}
	return d
}

func (d *decoder) next() uint32 {
	if len(d.data) == 0 {
		return 0
	}
	b := d.data[0]
	d.data = d.data[1:]
	return uint32(b)
}

func (d *decoder) bit(c *chances) (yes bool) {
	part := d.wide >> chanceBits * c.yesIn()
	if yes = d.code < part; yes {
		d.wide = part
	} else {
		d.code -= part
		d.wide -= part
	}
	c.learn(yes)
	d.widen()
	return yes
}

func (d *decoder) plain(n int) uint32 {
	d.wide >>= n
	v := min(d.code/d.wide, 1<<n-1)
	d.code -= v * d.wide
	d.widen()
	return v
}

func (d *decoder) widen() {
	for d.wide < least {
		d.wide <<= 8
		d.code = d.code<<8 | d.next()
	}
}
