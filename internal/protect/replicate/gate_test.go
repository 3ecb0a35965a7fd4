package replicate

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"plumb/internal/zfs"
)

// stream makes one of a snapshot, as zfs send begins it.
func stream(guid uint64, raw bool) []byte {
	version := uint64(1)
	if raw {
		version |= 1 << (2 + 24)
	}
	b := binary.LittleEndian.AppendUint64(nil, 0)
	for _, n := range []uint64{0x2F5bacbac, version, 0, 2, guid, 0} { // 2 is a filesystem
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return append(b, "and what follows"...)
}

func TestGate(t *testing.T) {
	source := dataset{moment: moment{name: "tank/db"}, moments: []moment{{name: "tank/db@a", guid: "7"}, {name: "tank/db@b", guid: "8"}}}
	for what, try := range map[string]struct {
		text []byte
		way  string
		want string // of the error; "" when it goes through
	}{
		"one that is resumed":  {stream(7, false), wayCompressed, ""},
		"raw":                  {stream(8, true), wayRaw, ""},
		"in the clear":         {stream(8, false), wayRaw, "is not raw"},
		"raw where it was not": {stream(8, true), wayPlain, "is not plain"},
		"of another dataset":   {stream(9, true), wayRaw, "of another dataset than tank/db"},
		"no stream":            {[]byte(strings.Repeat("no", 99)), wayPlain, "not a stream of one snapshot"},
	} {
		for _, size := range []int{1, 50, 1000} {
			var to bytes.Buffer
			g := &zfs.Gate{To: &to, Fits: meant(source, &Sent{Way: try.way, Dataset: "vault/copies/tank:db"})}
			var err error
			for piece := range slices.Chunk(try.text, size) {
				if _, err = g.Write(piece); err != nil {
					break
				}
			}
			through := try.text
			if try.want != "" {
				through = nil
			}
			if !bytes.Equal(to.Bytes(), through) || (err != nil) != (try.want != "") || err != nil && !strings.Contains(err.Error(), try.want) {
				t.Errorf("%s in pieces of %d: %v, %q went through", what, size, err, to.Bytes())
			}
		}
	}
}

// TestReceivedStreams: of what a key sends only the stream of one snapshot of a filesystem comes through. Any other could rename or promote
// what is there, or make a device.
func TestReceivedStreams(t *testing.T) {
	of := func(at int, to byte) []byte {
		text := stream(7, false)
		text[at] = to
		return text
	}
	for what, try := range map[string]struct {
		text []byte
		want string // of the error; "" when it comes through
	}{
		"one":             {stream(7, false), ""},
		"a raw one":       {stream(7, true), ""},
		"nothing":         {nil, ""},
		"of several":      {of(16, 2), "not a stream of one snapshot"},
		"of a volume":     {of(32, 3), "it is of a volume"},
		"no stream":       {[]byte(strings.Repeat("no", 99)), "not a stream of one snapshot"},
		"cut in its head": {stream(7, false)[:20], "ends in its first record"},
	} {
		for _, in := range []io.Reader{bytes.NewReader(try.text), iotest.OneByteReader(bytes.NewReader(try.text))} {
			got, err := io.ReadAll(&received{in: in})
			through := try.text
			if try.want != "" {
				through = nil
			}
			if !bytes.Equal(got, through) || (err != nil) != (try.want != "") || err != nil && !strings.Contains(err.Error(), try.want) {
				t.Errorf("%s: %v, %q came through", what, err, got)
			}
		}
	}
}
