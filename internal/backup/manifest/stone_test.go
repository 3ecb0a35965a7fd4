package manifest

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
)

func TestStone(t *testing.T) {
	ours, trusted := keys(t, "plumb-db1")
	theirs, _ := keys(t, "plumb-db1")
	was, err := Sign(sample(), ours)
	if err != nil {
		t.Fatal(err)
	}
	id := sample().ID
	want := Stone{ID: id, At: time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC), By: "db1", Why: []string{"no rule keeps it"}, Was: was}
	text, err := SignStone(want, ours)
	if err != nil || !IsStone(text) || IsStone(was) {
		t.Fatalf("%s, %v", text, err)
	}
	got, err := OpenStone(text, id, trusted)
	if err != nil || !bytes.Equal(got.Was, was) || !got.At.Equal(want.At) || got.By != "db1" {
		t.Errorf("%+v, %v", got, err)
	}
	if m, _, err := Open(got.Was, trusted); err != nil || m.ID != id {
		t.Errorf("what it held: %v", err)
	}
	if _, _, err := Open(text, trusted); err == nil {
		t.Error("a stone is a manifest")
	}
	other := NewID(want.At, "0123abcd")
	if _, err := OpenStone(text, other, trusted); err == nil {
		t.Error("it is taken for that of another backup")
	}
	strange, err := SignStone(want, theirs)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := OpenStone(strange, id, trusted); !errors.Is(err, ErrStranger) || !bytes.Equal(got.Was, was) {
		t.Errorf("of a stranger: %v", err)
	}
	for at := range text {
		if at == len(text)-3 { // two bits that mean nothing
			continue
		}
		wrong := bytes.Clone(text)
		wrong[at] ^= 1
		if _, err := OpenStone(wrong, id, trusted); err == nil {
			t.Fatalf("byte %d is another, and it is believed", at)
		}
	}
	newer, err := note.Sign(&note.Note{Text: stoneHead + `{"form":2}` + "\n"}, ours)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenStone(newer, id, trusted); err == nil || !strings.Contains(err.Error(), "version 2") {
		t.Error(err)
	}
}

func TestClaimAndProof(t *testing.T) {
	id := sample().ID
	text, err := Claim{ID: id, Needs: []string{"x"}, Beat: "1"}.Write()
	if err != nil {
		t.Fatal(err)
	}
	if c, err := OpenClaim(text, id); err != nil || c.Needs[0] != "x" || c.GivenUp {
		t.Errorf("%+v, %v", c, err)
	}
	for _, wrong := range []string{"", "{}", `{"form":2,"claims":"` + id + `"}`, string(text[:20])} {
		if _, err := OpenClaim([]byte(wrong), id); err == nil {
			t.Errorf("%q is a claim", wrong)
		}
	}
	ours, trusted := keys(t, "plumb-db1")
	theirs, _ := keys(t, "plumb-db1")
	for _, signer := range []note.Signer{ours, theirs} {
		text, err := SignProof(Proof{ID: id, OK: true}, signer)
		if err != nil {
			t.Fatal(err)
		}
		p, by, err := OpenProof(text, id, trusted)
		if (err == nil) != (signer == ours) || p.OK != (signer == ours) || err == nil && by != "plumb-db1" {
			t.Errorf("%+v, %v", p, err)
		}
		if _, _, err := OpenProof(text, "other", trusted); err == nil {
			t.Error("it proves another backup")
		}
	}
}

func TestNames(t *testing.T) {
	m := sample() // 1,001 chunks in two lists
	f := Folder(m.ID)
	for name, want := range map[string][2]bool{ // ours, named
		f + "manifest":               {false, true},
		f + "claim":                  {true, false},
		f + "hold-auditor":           {true, true},
		f + "hold-":                  {},
		f + "hold-a/b":               {},
		f + "proof":                  {true, true},
		ChunkName(m.ID, 0, 0):        {true, true},
		ChunkName(m.ID, 0, 1000):     {true, true},
		ChunkName(m.ID, 0, 1001):     {true, false},
		ChunkName(m.ID, 1, 0):        {true, false},
		PartName(m.ID, 0, 1):         {true, true},
		PartName(m.ID, 0, 2):         {true, false},
		f + "0/list-1":               {},
		f + "0/1.zst.age":            {},
		f + "0/-00000001.zst.age":    {},
		f + "+0/000000001.zst.age":   {},
		f + "00/000000001.zst.age":   {},
		f + "0/0/000000001.zst.age":  {},
		f + "0/list-":                {},
		f + "notes":                  {},
		"backups/mine/claim":         {},
		"archive/" + m.ID + "/claim": {},
	} {
		if got := [2]bool{Ours(name), m.Names(name)}; got != want {
			t.Errorf("%s: ours, named: %v", name, got)
		}
	}
	if m.Objects() != 1+1001+2 || len(m.Bases()) != 0 {
		t.Errorf("%d objects, %q", m.Objects(), m.Bases())
	}
}

func FuzzStone(f *testing.F) {
	ours, trusted := keys(f, "plumb-db1")
	text, err := SignStone(Stone{ID: sample().ID, Was: []byte("{}\n")}, ours)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(stoneHead + "{}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if s, err := OpenStone(text, sample().ID, trusted); err == nil && s.ID != sample().ID {
			t.Fatalf("%+v", s)
		}
		if s, err := parseStone(string(text), sample().ID); err == nil && s.ID != sample().ID {
			t.Fatalf("%+v", s)
		}
		if p, err := parseProof(text, sample().ID); err == nil && p.ID != sample().ID {
			t.Fatalf("%+v", p)
		}
		if c, err := OpenClaim(text, sample().ID); err == nil && c.ID != sample().ID {
			t.Fatalf("%+v", c)
		}
		Ours(string(text))
		sample().Names(string(text))
	})
}
