package binlog

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
)

// How MySQL writes GTIDs to its log. With tags, since 8.3, it has its own form of numbers and fields
// (libs/mysql/serialization/readme.md; libs/mysql/binlog/event/control_events.h).

const (
	uuidBytes = 16
	mostTag   = 32 // bytes
)

// Previous gives what MySQL says that its log has before a file; nil where that is not known: of a long list only the beginning is kept.
func (e Event) Previous() Set {
	if e.Type != PreviousGTIDs || len(e.Body) < 8 {
		return nil
	}
	r := &reader{b: e.Body}
	sources, tagged := r.fixed(), false
	switch sources >> 56 {
	case 0:
	case 1: // how many it has stands behind another 1
		sources, tagged = sources<<8>>16, true
	default:
		return nil
	}
	set := Set{}
	for ; sources > 0 && !r.bad; sources-- {
		source := uuidText(r.take(uuidBytes))
		if tagged {
			source += r.tag()
		}
		for n := r.fixed(); n > 0 && !r.bad; n-- {
			x := interval{r.fixed(), r.fixed()}
			if r.bad = r.bad || x.from < 1 || x.end <= x.from || x.end > math.MaxInt64; !r.bad {
				set.add(source, x)
			}
		}
	}
	if r.bad || len(r.b) > 0 {
		return nil
	}
	return set
}

// taggedGTID reads a GTID that has a tag; "" where it is written in a form that is not known.
func taggedGTID(body []byte) string {
	const flags, uuid, number, tag = 0, 1, 2, 3 // the first fields of the event, each behind its own number
	r := &reader{b: body}
	if r.number() != 1 { // the version of the form
		return ""
	}
	r.number() // the length of all
	r.number() // the last field that must be understood
	r.field(flags)
	r.number()
	r.field(uuid)
	var id [uuidBytes]byte
	for i := range id {
		id[i] = byte(r.number())
	}
	r.field(number)
	n := r.number() // its last bit is the sign
	r.field(tag)
	source := uuidText(id[:]) + r.tag()
	if n&1 != 0 || n>>1 == 0 || n>>1 == math.MaxInt64 || r.bad {
		return ""
	}
	return fmt.Sprintf("%s:%d", source, n>>1)
}

func uuidText(b []byte) string {
	if len(b) != uuidBytes {
		return ""
	}
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// reader reads what is there, one after the other. Once something is missing all is bad.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) take(n int) []byte {
	if r.bad = r.bad || n > len(r.b); r.bad {
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

// fixed is a number of eight bytes.
func (r *reader) fixed() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// number is one of one to nine bytes: as many ones as its first byte ends with bytes follow.
func (r *reader) number() (n uint64) {
	first := r.take(1)
	if first == nil {
		return 0
	}
	more := bits.TrailingZeros8(^first[0])
	n = uint64(first[0]) >> (more + 1)
	for i, b := range r.take(more) {
		n |= uint64(b) << (8*i + max(0, 7-more))
	}
	return n
}

// field wants that a field comes next.
func (r *reader) field(id uint64) { r.bad = r.number() != id || r.bad }

// tag reads a tag, with the colon before it; "" is none.
func (r *reader) tag() string {
	text := string(r.take(int(min(r.number(), mostTag+1))))
	if text == "" {
		return ""
	}
	r.bad = r.bad || !tagForm.MatchString(text)
	return ":" + text
}
