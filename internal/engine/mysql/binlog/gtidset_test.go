package binlog

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const (
	uuidA = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
	uuidB = "f0000000-0000-0000-0000-00000000000f"
)

// numbered is a set as plain as can be: each GTID by itself.
type numbered map[string]map[uint64]bool

// drawNumbered draws one, in ranges and single ones.
func drawNumbered(r *rand.Rand) numbered {
	n := numbered{}
	for _, source := range []string{uuidA, uuidA + ":_tag1", uuidB} {
		for range r.IntN(5) {
			if n[source] == nil {
				n[source] = map[uint64]bool{}
			}
			from := 1 + r.Uint64N(30)
			for k := range 1 + r.Uint64N(8) {
				n[source][from+k] = true
			}
		}
	}
	return n
}

// set adds each, in any order.
func (n numbered) set(r *rand.Rand) Set {
	var all []string
	for source, numbers := range n {
		for k := range numbers {
			all = append(all, fmt.Sprintf("%s:%d", source, k))
		}
	}
	slices.Sort(all)
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	set := Set{}
	for _, gtid := range all {
		set.Add(gtid)
	}
	return set
}

// text writes a set as the server does: a source by itself, behind it those of its tags.
func (s Set) text() string {
	var all []string
	for _, source := range slices.Sorted(maps.Keys(s)) {
		uuid, tag, tagged := strings.Cut(source, ":")
		part := ""
		for _, x := range s[source] {
			part += fmt.Sprintf(":%d", x.from)
			if x.end > x.from+1 {
				part += fmt.Sprintf("-%d", x.end-1)
			}
		}
		if n := len(all) - 1; tagged && n >= 0 && strings.HasPrefix(all[n], uuid) {
			all[n] += ":" + tag + part
		} else {
			all = append(all, source+part)
		}
	}
	return strings.Join(all, ",\n")
}

// encoded writes a set as MySQL does into the head of a file.
func (s Set) encoded() string {
	le, tagged := binary.LittleEndian, strings.Contains(strings.Join(slices.Collect(maps.Keys(s)), ","), ":")
	n := uint64(len(s))
	if tagged {
		n = 1<<56 | n<<8 | 1
	}
	b := le.AppendUint64(nil, n)
	for _, source := range slices.Sorted(maps.Keys(s)) {
		uuid, tag, _ := strings.Cut(source, ":")
		id, _ := hex.DecodeString(strings.ReplaceAll(uuid, "-", ""))
		b = append(b, id...)
		if tagged {
			b = append(append(b, byte(len(tag)<<1)), tag...)
		}
		b = le.AppendUint64(b, uint64(len(s[source])))
		for _, x := range s[source] {
			b = le.AppendUint64(le.AppendUint64(b, x.from), x.end)
		}
	}
	return string(b)
}

// TestSets: what intervals say is what the numbers by themselves say, and it is read as it is written.
func TestSets(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		a, b := drawNumbered(r), drawNumbered(r)
		x, y := a.set(r), b.set(r)
		beyond, ahead := a.beyond(b), a.ahead(b)
		if got := x.Beyond(y); got != beyond {
			t.Fatalf("%s beyond %s: %q, want %q", x.text(), y.text(), got, beyond)
		}
		if got := x.Ahead(y); got != ahead {
			t.Fatalf("%s ahead of %s: %q, want %q", x.text(), y.text(), got, ahead)
		}
		if read, err := parseSet(x.text()); err != nil || !reflect.DeepEqual(read, x) {
			t.Fatalf("%s: %v, %v", x.text(), read, err)
		}
		if read := (Event{Type: PreviousGTIDs, Body: []byte(x.encoded())}).Previous(); !reflect.DeepEqual(read, x) {
			t.Fatalf("%s: %v", x.text(), read)
		}
		for source, intervals := range x { // no two touch
			for i, of := range intervals {
				if of.end <= of.from || i > 0 && of.from <= intervals[i-1].end {
					t.Fatalf("%s: %v", source, intervals)
				}
			}
		}
	}
}

func (n numbered) beyond(other numbered) string {
	for _, source := range slices.Sorted(maps.Keys(n)) {
		for _, k := range slices.Sorted(maps.Keys(n[source])) {
			if !other[source][k] {
				return fmt.Sprintf("%s:%d", source, k)
			}
		}
	}
	return ""
}

func (n numbered) ahead(other numbered) string {
	last := func(m map[uint64]bool) uint64 { return slices.Max(append(slices.Collect(maps.Keys(m)), 0)) }
	for _, source := range slices.Sorted(maps.Keys(other)) {
		if k := last(n[source]); k > last(other[source]) {
			return fmt.Sprintf("%s:%d", source, k)
		}
	}
	return ""
}

func TestWhatIsNoSet(t *testing.T) {
	for _, text := range []string{"0-1-42", uuidA + ":0", uuidA + ":5-4", uuidA + ":1-", uuidA + ":-3", "a:1", uuidA[1:] + ":1", uuidA + ":1:9tag:1", uuidA + "::1", uuidA + ":9223372036854775807",
		uuidA + ":99999999999999999999", uuidA + ":" + strings.Repeat("x", 33) + ":1"} {
		if set, err := parseSet(text); err == nil {
			t.Errorf("%s: %v", text, set)
		}
	}
	for _, text := range []string{"", " \n", strings.ToUpper(uuidA) + ":1-5:7", " " + uuidA + ":1-3:5,\n" + uuidB + ":tag:1", uuidA + ":1:tag:2:other:3"} {
		if _, err := parseSet(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	whole := Set{uuidA: {{1, 6}, {8, 9}}, uuidA + ":tag": {{1, 2}}}.encoded()
	for i := range whole {
		if set := (Event{Type: PreviousGTIDs, Body: []byte(whole[:i])}).Previous(); set != nil {
			t.Errorf("of %d bytes: %v", i, set)
		}
	}
	if set := (Event{Type: PreviousGTIDs, Body: []byte(whole + "\x00")}).Previous(); set != nil {
		t.Errorf("with a byte behind it: %v", set)
	}
	if set := (Event{Type: PreviousGTIDs, Body: make([]byte, 8)}).Previous(); set == nil || len(set) > 0 {
		t.Errorf("none: %v", set)
	}
}

func FuzzSets(f *testing.F) {
	f.Add([]byte(Set{uuidA: {{1, 6}}, uuidA + ":tag": {{1, 2}}}.encoded()))
	f.Add([]byte("\x02\x4c\x00\x00\x02" + strings.Repeat("\x02", 16)))
	f.Fuzz(func(t *testing.T, body []byte) {
		if set := (Event{Type: PreviousGTIDs, Body: body}).Previous(); set != nil {
			if read, err := parseSet(set.text()); err != nil || read.Beyond(set) != "" || set.Beyond(read) != "" {
				t.Errorf("%v: %v, %v", set, read, err)
			}
		}
		if gtid, begins := (Event{Type: Tagged, Body: body}).Begins(); begins && gtid != "" {
			if _, err := parseSet(gtid); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestALogOfMySQL is what MySQL 9.7.4 wrote: two inserts, one with a tag, a new file, an insert, and one with a tag.
func TestALogOfMySQL(t *testing.T) {
	said := map[string]string{}
	for _, file := range []string{"mysql-9.7.000001", "mysql-9.7.000002"} {
		text, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		if err := Scan(bytes.NewReader(text), func(e Event) error {
			if e.Type == PreviousGTIDs {
				all = append(all, "before it "+e.Previous().text())
			}
			if gtid, begins := e.Begins(); begins {
				all = append(all, gtid)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		said[file] = strings.ReplaceAll(strings.Join(all, ", "), "27c02c3a-ebc7-11f1-b9c0-02fc00000001", "UUID")
	}
	for file, want := range map[string]string{"mysql-9.7.000001": "before it , UUID:1, UUID:2, UUID:plumb:1", "mysql-9.7.000002": "before it UUID:1-2:plumb:1, UUID:3, UUID:plumb:2"} {
		if said[file] != want {
			t.Errorf("%s: %s", file, said[file])
		}
	}
}
