package btrfs

import (
	"bytes"
	"strings"
	"testing"

	"plumb/internal/btrfs/btrfstest"
)

const (
	one   = "ba36178d-ee23-0443-983f-42e3d5d64982"
	other = "3b0d3110-deaf-3a40-800d-1d3f2d695762"
)

func sieved(s *Sieve, stream []byte, step int) (string, error) {
	var out bytes.Buffer
	s.Out = &out
	for b := stream; len(b) > 0; b = b[min(step, len(b)):] {
		if _, err := s.Write(b[:min(step, len(b))]); err != nil {
			return out.String(), err
		}
	}
	return out.String(), s.Close()
}

func TestSievePasses(t *testing.T) {
	of, from := Origin{one, 8}, Origin{other, 7}
	begin := btrfstest.Snapshot("plumb-x", one, 8, other, 7)
	rest := bytes.Join([][]byte{btrfstest.File("a/b"), btrfstest.Link("l", "/etc"), btrfstest.Command(20, btrfstest.Text(15, "")),
		btrfstest.Command(16, btrfstest.Text(15, "c"), btrfstest.UUID(20, other), btrfstest.Number(21, 7), btrfstest.Text(22, "b")), btrfstest.End()}, nil)
	stream := btrfstest.Stream(begin, rest)
	for _, step := range []int{1, 7, 100, len(stream)} {
		s := &Sieve{Of: Origin{UUID: one}, From: from}
		if got, err := sieved(s, stream, step); err != nil || got != string(stream) || s.Of != of {
			t.Errorf("in steps of %d: %v, %d of %d bytes", step, err, len(got), len(stream))
		}
		named := btrfstest.Stream(btrfstest.Snapshot("received", one, 8, other, 7), rest)
		if got, err := sieved(&Sieve{Of: of, From: from, Name: "received"}, stream, step); err != nil || got != string(named) {
			t.Errorf("named, in steps of %d: %v, %d of %d bytes", step, err, len(got), len(named))
		}
	}
}

// TestSieveRefuses gives it what no kernel sends for the snapshot that is meant. Nothing of the command goes through.
func TestSieveRefuses(t *testing.T) {
	whole := btrfstest.Subvolume("plumb-x", one, 8)
	path := func(kind uint16, more ...[]byte) []byte {
		return btrfstest.Command(kind, append([][]byte{btrfstest.Text(15, "evil")}, more...)...)
	}
	for want, commands := range map[string][][]byte{
		"ends before its end":             {whole, btrfstest.File("evil")},
		"comes after its end":             {whole, btrfstest.End(), btrfstest.Subvolume("evil", other, 1)},
		"a second subvolume":              {whole, btrfstest.Subvolume("evil", other, 1)},
		"not with a subvolume":            {btrfstest.File("evil")},
		"and " + one + ":0 was meant":     {btrfstest.Subvolume("evil", other, 8)},
		"and was to be whole":             {btrfstest.Snapshot("evil", one, 8, other, 7)},
		"not a subvolume name":            {btrfstest.Subvolume("../evil", one, 8)},
		`"/evil" leads out`:               {whole, btrfstest.File("/evil")},
		`"a/../../evil" leads out`:        {whole, btrfstest.File("a/../../evil")},
		`"../evil" leads out`:             {whole, path(10, btrfstest.Text(17, "../evil"))},
		`"../to" leads out`:               {whole, path(9, btrfstest.Text(16, "../to"))},
		"takes data from the subvolume":   {whole, path(16, btrfstest.UUID(20, other), btrfstest.Number(21, 1), btrfstest.Text(22, "b"))},
		`"../b" leads out`:                {whole, path(16, btrfstest.UUID(20, one), btrfstest.Number(21, 8), btrfstest.Text(22, "../b"))},
		"made with --no-data":             {whole, path(22)},
		"which version 1 does not have":   {whole, path(25)},
		"names no path":                   {whole, btrfstest.Command(3)},
		"is not known, or is there twice": {whole, path(3, btrfstest.Text(15, "evil"))},
		"an attribute is cut":             {whole, btrfstest.Command(3, []byte{15, 0, 9, 0, 'x'})},
		"does not say which snapshot":     {btrfstest.Command(1, btrfstest.Text(15, "evil"))},
	} {
		got, err := sieved(&Sieve{Of: Origin{UUID: one}, Name: "received"}, btrfstest.Stream(commands...), 11)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
		if strings.Contains(got, "evil") && want != "ends before its end" {
			t.Errorf("%s: it went through", want)
		}
	}
	good := btrfstest.Stream(whole, btrfstest.File("a"), btrfstest.End())
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 0x40
		if _, err := sieved(&Sieve{Of: Origin{UUID: one}}, bad, len(bad)); err == nil {
			t.Errorf("byte %d is another, and it goes through", i)
		}
	}
	if _, err := sieved(&Sieve{Of: Origin{UUID: one}, From: Origin{other, 1}}, good, 10); err == nil || !strings.Contains(err.Error(), "was to begin at") {
		t.Error(err)
	}
	if _, err := sieved(&Sieve{Of: Origin{one, 9}}, good, 10); err == nil || !strings.Contains(err.Error(), "was meant") {
		t.Error(err)
	}
}

func TestOrigin(t *testing.T) {
	o := Origin{one, 1 << 60}
	if got, err := ParseOrigin(o.String()); err != nil || got != o {
		t.Error(got, err)
	}
	for _, bad := range []string{"", one, one + ":", one + ":x", one[1:] + ":1", strings.ToUpper(one) + ":1", ":1"} {
		if got, err := ParseOrigin(bad); err == nil {
			t.Errorf("%q is %v", bad, got)
		}
	}
}

const shown = `back/received
	Name: 			received
	UUID: 			3b0d3110-deaf-3a40-800d-1d3f2d695762
	Parent UUID: 		-
	Received UUID: 		ba36178d-ee23-0443-983f-42e3d5d64982
	Flags: 			readonly
	Send transid: 		8
	Snapshot(s):
				UUID: -
`

func TestShow(t *testing.T) {
	if got, want := ParseShow([]byte(shown)), (Shown{UUID: other, Received: one, ReadOnly: true, Sent: 8}); got != want {
		t.Errorf("%+v", got)
	}
}

func FuzzSieve(f *testing.F) {
	f.Add(btrfstest.Stream(btrfstest.Subvolume("x", one, 8), btrfstest.File("a"), btrfstest.End()), uint8(3))
	f.Fuzz(func(t *testing.T, stream []byte, step uint8) {
		got, err := sieved(&Sieve{Of: Origin{UUID: one}}, stream, int(step)+1)
		if err == nil && got != string(stream) {
			t.Error("it lets all through, and something else")
		}
		if !strings.HasPrefix(string(stream), got) {
			t.Error("what it lets through is not the beginning")
		}
		_, _ = sieved(&Sieve{Of: Origin{UUID: one}, Name: "received"}, stream, int(step)+1)
		ParseShow(stream)
		_, _ = ParseOrigin(string(stream))
	})
}
