package record

import (
	"encoding/binary"
	"time"

	"plumb/internal/series"
	"plumb/internal/stack"
)

// What is the same in many blocks is stored once, and named by a number. It is
// written as strings and not as JSON, which cannot hold every string.

// schema is what the rows of a section have in common.
type schema struct {
	source  string
	every   time.Duration
	columns []column
}

func (s schema) encode() []byte {
	t := &texts{place: map[string]uint64{}}
	body := binary.AppendVarint(nil, int64(s.every))
	body = binary.AppendVarint(body, t.of(s.source))
	body = binary.AppendUvarint(body, uint64(len(s.columns)))
	for _, c := range s.columns {
		for _, text := range []string{c.Of.Kind, c.Of.Name, c.Name} {
			body = binary.AppendVarint(body, t.of(text))
		}
		body = append(body, byte(c.As))
	}
	return append(t.append(nil), body...)
}

func decodeSchema(data []byte) (s schema, err error) {
	in := &input{data: data}
	list := in.texts()
	s.every = time.Duration(in.varint())
	s.source = in.text(list)
	s.columns = make([]column, in.count(min(mostColumns, len(in.data))))
	for i := range s.columns {
		s.columns[i] = column{stack.Ref{Kind: in.text(list), Name: in.text(list)}, in.text(list), as(in.byte())}
		if s.columns[i].As > asMost {
			in.fail()
		}
	}
	return s, in.ended()
}

// text reads one of the strings of a list.
func (in *input) text(list []string) string {
	n := in.varint()
	if n < 0 || n >= int64(len(list)) {
		in.fail()
		return ""
	}
	return list[n]
}

// ended is an error unless everything was read, and made sense.
func (in *input) ended() error {
	if in.bad || len(in.data) > 0 {
		return errDamaged
	}
	return nil
}

func (d digest) encode() []byte {
	rest := ""
	if d.Rest {
		rest = "rest"
	}
	return appendStrings(nil, d.Of.Kind, d.Of.Name, d.Database, d.ID, d.Text, rest)
}

func decodeDigest(data []byte) (digest, error) {
	in := &input{data: data}
	f := in.strings(6)
	return digest{stack.Ref{Kind: f[0], Name: f[1]}, f[2], f[3], f[4], f[5] == "rest"}, in.ended()
}

func appendStrings(dst []byte, list ...string) []byte {
	for _, s := range list {
		dst = append(binary.AppendUvarint(dst, uint64(len(s))), s...)
	}
	return dst
}

func (in *input) strings(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = string(in.bytes(in.count(len(in.data))))
	}
	return list
}

func encodeGaps(gaps []series.Gap) (dst []byte) {
	for _, g := range gaps {
		dst = appendStrings(dst, g.Of.Kind, g.Of.Name, g.Name, g.Why, g.Hint)
	}
	return dst
}

func decodeGaps(data []byte) (gaps []series.Gap, err error) {
	in := &input{data: data}
	for len(in.data) > 0 {
		f := in.strings(5)
		gaps = append(gaps, series.Gap{Of: stack.Ref{Kind: f[0], Name: f[1]}, Name: f[2], Why: f[3], Hint: f[4]})
	}
	return gaps, in.ended()
}
