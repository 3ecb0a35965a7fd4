package replicate

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

// stream makes one of a snapshot, as zfs send begins it.
func stream(guid uint64, raw bool) []byte {
	version := uint64(1)
	if raw {
		version |= 1 << (2 + 24)
	}
	b := binary.LittleEndian.AppendUint64(nil, 0)
	for _, n := range []uint64{0x2F5bacbac, version, 0, 0, guid, 0} {
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
		"no stream":            {[]byte(strings.Repeat("no", 99)), wayPlain, "no stream of one snapshot"},
	} {
		for _, size := range []int{1, 50, 1000} {
			var to bytes.Buffer
			g := &gate{to: &to, fits: meant(source, &Sent{Way: try.way, Dataset: "vault/copies/tank:db"})}
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
