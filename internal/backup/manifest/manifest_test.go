package manifest

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
)

func keys(t testing.TB, name string) (note.Signer, note.Verifier) {
	t.Helper()
	private, public, err := note.GenerateKey(rand.Reader, name)
	if err != nil {
		t.Fatal(err)
	}
	s, err := note.NewSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	v, err := note.NewVerifier(public)
	if err != nil {
		t.Fatal(err)
	}
	return s, v
}

var sum = strings.Repeat("ab", 32)

func sample() Manifest {
	return Manifest{ID: NewID(time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC), "abcd1234"), Host: "db1", Server: "mariadb:3306", Facts: map[string]string{"gtid": "0-1-7"},
		Streams: []Stream{{Name: "tank/db", Kind: ZFS, GUID: "17", Chunk: 1000, Bytes: 1_000_500, Parts: []Part{{PerPart, sum}, {1, sum}}}}}
}

func TestSignedAndOpened(t *testing.T) {
	ours, trusted := keys(t, "plumb-db1")
	text, err := Sign(sample(), ours)
	if err != nil {
		t.Fatal(err)
	}
	m, by, err := Open(text, trusted)
	if err != nil || by != "plumb-db1" || m.Streams[0].Bytes != 1_000_500 || m.Facts["gtid"] != "0-1-7" {
		t.Errorf("%+v by %q, %v", m, by, err)
	}
	// What stands before the signature is JSON that anything reads.
	body, _, _ := bytes.Cut(text, []byte("\n\n"))
	if !json.Valid(body) {
		t.Errorf("%s", body)
	}
}

func TestNotBelieved(t *testing.T) {
	ours, trusted := keys(t, "plumb-db1")
	theirs, other := keys(t, "plumb-db1") // of the same name
	text, err := Sign(sample(), theirs)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(text, trusted); !errors.Is(err, ErrStranger) {
		t.Errorf("signed by another: %v", err)
	}
	if _, _, err := Open(text); !errors.Is(err, ErrStranger) {
		t.Errorf("nobody is trusted: %v", err)
	}
	if _, _, err := Open(text, trusted, other); err != nil {
		t.Error(err)
	}
	good, err := Sign(sample(), ours)
	if err != nil {
		t.Fatal(err)
	}
	for at := range good {
		wrong := bytes.Clone(good)
		if at == len(good)-3 { // the last letter of the signature has two bits that mean nothing
			continue
		}
		wrong[at] ^= 1
		if _, _, err := Open(wrong, trusted); err == nil && at != len(good)-3 { // of its last letter two bits mean nothing
			t.Fatalf("byte %d is another, and it is believed:\n%s", at, wrong)
		}
		if _, _, err := Open(good[:at], trusted); err == nil {
			t.Fatalf("it is believed when cut at %d", at)
		}
	}
}

// What a host of ours signed can be wrong all the same.
func TestWrong(t *testing.T) {
	ours, _ := keys(t, "plumb-db1")
	for name, wrong := range map[string]func(*Manifest){
		"id":         func(m *Manifest) { m.ID = "../../x" },
		"no stream":  func(m *Manifest) { m.Streams = nil },
		"chunk":      func(m *Manifest) { m.Streams[0].Chunk = 0 },
		"huge chunk": func(m *Manifest) { m.Streams[0].Chunk = 1 << 40 },
		"bytes":      func(m *Manifest) { m.Streams[0].Bytes = -1 },
		"too few":    func(m *Manifest) { m.Streams[0].Bytes = 2_000_000 },
		"too many":   func(m *Manifest) { m.Streams[0].Bytes = 1_000_000 },
		"hash":       func(m *Manifest) { m.Streams[0].Parts[0].SHA256 = "x" },
		"short part": func(m *Manifest) { m.Streams[0].Parts = []Part{{1, sum}, {PerPart, sum}} },
		"base":       func(m *Manifest) { m.Streams[0].Base = &Base{Backup: "x", GUID: "1"} },
	} {
		m := sample()
		wrong(&m)
		if _, err := Sign(m, ours); err == nil {
			t.Errorf("%s: signed", name)
		}
	}
}

func TestNewer(t *testing.T) {
	ours, trusted := keys(t, "plumb-db1")
	text, err := note.Sign(&note.Note{Text: "{\"form\": 2, \"something\": \"new\"}\n"}, ours)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(text, trusted); err == nil || !strings.Contains(err.Error(), "version 2") {
		t.Error(err)
	}
}

func TestParts(t *testing.T) {
	chunks := []Chunk{{1000, 900, sum}, {500, 480, sum}}
	text, part, err := WritePart(chunks)
	if err != nil {
		t.Fatal(err)
	}
	s := Stream{Chunk: 1000, Bytes: 1500, Parts: []Part{part}}
	if got, err := s.ReadPart(0, text); err != nil || fmt.Sprint(got) != fmt.Sprint(chunks) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := s.ReadPart(0, append(text, ' ')); err == nil {
		t.Error("another list is taken for it")
	}
	for _, wrong := range [][]Chunk{{{1000, 900, sum}}, {{900, 900, sum}, {600, 480, sum}}, {{1000, 0, sum}, {500, 480, sum}}, {{1000, 900, "x"}, {500, 480, sum}}} {
		text, part, err := WritePart(wrong)
		if err != nil {
			t.Fatal(err)
		}
		part.Chunks = 2
		s.Parts[0] = part
		if _, err := s.ReadPart(0, text); err == nil {
			t.Errorf("%v is taken", wrong)
		}
	}
	if OfManifest(Name(sample().ID)) != sample().ID || OfManifest(ChunkName(sample().ID, 0, 0)) != "" || OfManifest("backups/x/manifest") != "" {
		t.Error("the name of a manifest is not known")
	}
}

func FuzzOpen(f *testing.F) {
	ours, trusted := keys(f, "plumb-db1")
	text, err := Sign(sample(), ours)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		m, _, err := Open(text, trusted)
		if err == nil && m.ID != sample().ID {
			t.Fatalf("%+v", m)
		}
	})
}

func FuzzParse(f *testing.F) {
	m := sample()
	m.Form = Form
	text, err := json.Marshal(m)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		if m, err := parse(text); err == nil && m.check() != nil {
			t.Fatalf("%+v", m)
		}
	})
}

// What somebody else wrote fills nobody's screen: of names that are not believed only the beginning is told.
func TestStrangersAreShort(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	stranger, _ := keys(t, long)
	m := sample()
	text, err := Sign(m, stranger)
	if err != nil {
		t.Fatal(err)
	}
	stone, err := SignStone(Stone{ID: long}, stranger)
	if err != nil {
		t.Fatal(err)
	}
	claim, err := Claim{ID: long}.Write()
	if err != nil {
		t.Fatal(err)
	}
	_, _, ofManifest := Open(text)
	_, ofStone := OpenStone(stone, m.ID)
	_, ofClaim := OpenClaim(claim[:len(claim)-1], m.ID)
	for what, err := range map[string]error{"a manifest": ofManifest, "a stone": ofStone, "a claim": ofClaim} {
		if err == nil || len(err.Error()) > 300 || !strings.Contains(err.Error(), "xxx") {
			t.Errorf("%s: %.400v", what, err)
		}
	}
}
