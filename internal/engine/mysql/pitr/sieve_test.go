package pitr

import (
	"bytes"
	"encoding/binary"
	"io"
	"strings"
	"testing"
)

// chunkFor makes a chunk of a stream as mbstream reads it.
func chunkFor(kind byte, name, text string) []byte {
	b := append([]byte(chunkMagic), 0, kind)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(name)))
	b = append(b, name...)
	if kind == isPayload {
		b = binary.LittleEndian.AppendUint64(b, uint64(len(text)))
		b = append(b, make([]byte, 8+4)...)
		b = append(b, text...)
	}
	return b
}

func TestSieve(t *testing.T) {
	good := slicesOf(chunkFor(isPayload, "./test/t.ibd", "rows"), chunkFor(isPayload, "test/..t..frm", "x"), chunkFor(isEnd, "./test/t.ibd", ""))
	var out bytes.Buffer
	if err := (Engine{}).Sieve(bytes.NewReader(good), &out); err != nil || !bytes.Equal(out.Bytes(), good) {
		t.Errorf("%v, %d of %d bytes", err, out.Len(), len(good))
	}
	for _, name := range []string{"../x", "a/../../x", "/etc/x", "..", "", "a\x00b"} {
		out.Reset()
		err := (Engine{}).Sieve(bytes.NewReader(slicesOf(good, chunkFor(isPayload, name, "evil"))), &out)
		if err == nil || out.Len() != len(good) {
			t.Errorf("%q: %v, and %d bytes were passed on behind what is good", name, err, out.Len()-len(good))
		}
	}
	out.Reset()
	link := slicesOf(chunkFor(isPayload, "./test/far.isl", "/srv/far/test/far.ibd"), chunkFor(isEnd, "./test/far.isl", ""))
	if err := (Engine{}).Sieve(bytes.NewReader(slicesOf(link, good, link)), &out); err != nil || !bytes.Equal(out.Bytes(), good) {
		t.Errorf("with where a table lies: %v, %d of %d bytes", err, out.Len(), len(good))
	}
	for _, cut := range []int{1, 20, len(good) - 1} {
		if err := (Engine{}).Sieve(bytes.NewReader(good[:cut]), io.Discard); err == nil || !strings.Contains(err.Error(), "EOF") {
			t.Errorf("cut at %d: %v", cut, err)
		}
	}
}

func slicesOf(all ...[]byte) []byte { return bytes.Join(all, nil) }

// Whatever a stream says, what is passed on names no file that lies elsewhere.
func FuzzSieve(f *testing.F) {
	f.Add(slicesOf(chunkFor(isPayload, "./a", "b"), chunkFor(isEnd, "./a", "")))
	f.Add(chunkFor(isPayload, "../a", "b"))
	f.Add(chunkFor(isPayload, "a.isl", "/b"))
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		err := (Engine{}).Sieve(bytes.NewReader(in), &out)
		if out.Len() > len(in) {
			t.Errorf("%d of %d bytes, %v", out.Len(), len(in), err)
		}
		for r := bytes.NewReader(out.Bytes()); r.Len() > 0; {
			name, size, err := chunkOf(r)
			if err != nil || size > int64(r.Len()) {
				break
			}
			if !inside(name) || strings.HasSuffix(name, elsewhere) {
				t.Fatalf("%q was passed on", name)
			}
			_, _ = r.Seek(size, io.SeekCurrent)
		}
	})
}
