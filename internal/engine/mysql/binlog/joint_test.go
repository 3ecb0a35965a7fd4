package binlog

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"
)

// A place is in a log where an event ends there, and the GTIDs before it are those that were read with it, or none that is later than those
// that were read behind it.
func TestJoint(t *testing.T) {
	gtid := func(n byte) []byte {
		body := make([]byte, 19)
		body[0], body[8] = n, 3
		return entry(GTIDMaria, 0, string(body))
	}
	list := entry(GTIDList, 0, "\x01\x00\x00\x00\x05\x00\x00\x00\x07\x00\x00\x00\x09\x00\x00\x00\x00\x00\x00\x00") // 5-7-9
	commit := entry(XID, 0, "\x01\x00\x00\x00\x00\x00\x00\x00")
	head := sample()[:4+binary.LittleEndian.Uint32(sample()[13:])]
	one := bytes.Join([][]byte{head, list, gtid(41), commit, gtid(42), commit}, nil)
	log := bytes.Join([][]byte{one, gtid(43), commit}, nil)
	here := int64(len(one))
	for name, c := range map[string]struct {
		at   Place
		want string
	}{
		"place":                         {Place{Offset: here}, ""},
		"beginning":                     {Place{Offset: 4}, ""},
		"end":                           {Place{Offset: int64(len(log))}, ""},
		"behind the end":                {Place{Offset: int64(len(log)) + 1}, "it ends at"},
		"amid an event":                 {Place{Offset: here - 1}, "amid an event"},
		"GTIDs":                         {Place{Offset: here, GTIDs: "3-7-42,5-7-9"}, ""},
		"GTID of before":                {Place{Offset: here, GTIDs: "3-7-41"}, "3-7-41 is not the last"},
		"GTID of behind":                {Place{Offset: here, GTIDs: "3-7-43"}, "3-7-43 is not the last"},
		"GTID of another server":        {Place{Offset: here, GTIDs: "3-8-42"}, "3-8-42 is not the last"},
		"GTID of before the file":       {Place{Offset: here, GTIDs: "5-7-8"}, "5-7-8 is not the last"},
		"read apart, the same":          {Place{Offset: here, GTIDs: "3-7-42,5-7-9", Apart: true}, ""},
		"read apart, later":             {Place{Offset: here, GTIDs: "3-7-99,5-7-9", Apart: true}, ""},
		"read apart, of another server": {Place{Offset: here, GTIDs: "3-8-1", Apart: true}, ""},
		"read apart, and the log is on": {Place{Offset: here, GTIDs: "3-7-41,5-7-9", Apart: true}, "before"},
		"set of MySQL":                  {Place{Offset: here, GTIDs: "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5"}, ""},
	} {
		j := Joint{Place: c.at}
		err := j.In(bytes.NewReader(log))
		if c.want == "" && (err != nil || !j.Joined) || c.want != "" && (!errors.Is(err, ErrOther) || !strings.Contains(err.Error(), c.want) || j.Joined) {
			t.Errorf("%s: %v", name, err)
		}
	}
	j := Joint{Place: Place{Offset: here}}
	if err := j.In(bytes.NewReader(append(one[:here:here], gtid(43)[:7]...))); err != nil || !j.Joined {
		t.Errorf("a file that is being written: %v", err)
	}
	j = Joint{Place: Place{Offset: here}}
	if err := j.In(strings.NewReader("noise, and no log")); err == nil || errors.Is(err, ErrOther) || j.Joined {
		t.Errorf("noise: %v", err)
	}
}

// compact writes a number as MySQL does that takes one or two bytes.
func compact(n int) string {
	if n < 1<<7 {
		return string([]byte{byte(n << 1)})
	}
	return string([]byte{byte(n<<2) | 1, byte(n >> 6)})
}

// ofMySQL begins a transaction of MySQL's.
func ofMySQL(uuid, tag string, n int) []byte {
	id, _ := hex.DecodeString(strings.ReplaceAll(uuid, "-", ""))
	if tag == "" {
		return entry(GTID, 0, "\x00"+string(id)+string(binary.LittleEndian.AppendUint64(nil, uint64(n)))+strings.Repeat("\x00", 17))
	}
	body := compact(1)
	for _, b := range id {
		body += compact(int(b))
	}
	body = compact(0) + compact(0) + body + compact(2) + compact(n<<1) + compact(3) + compact(len(tag)) + tag + compact(4) + compact(9) // and the first of more fields
	return entry(Tagged, 0, compact(1)+compact(len(body)+2)+compact(3)+body)
}

// A set of MySQL's has all that its log has before a place; what the log does not have another log may have had.
func TestJointOfMySQL(t *testing.T) {
	commit := entry(XID, 0, "\x01\x00\x00\x00\x00\x00\x00\x00")
	head := sample()[:4+binary.LittleEndian.Uint32(sample()[13:])]
	before := entry(PreviousGTIDs, 0, Set{uuidA: {{1, 6}}, uuidA + ":_tag1": {{1, 3}}}.encoded())
	log := bytes.Join([][]byte{head, before, ofMySQL(uuidA, "", 6), commit, ofMySQL(uuidA, "_tag1", 300), commit}, nil)
	begun, here := int64(len(head)+len(before)), int64(len(log))
	log = append(log, bytes.Join([][]byte{ofMySQL(uuidA, "", 7), commit}, nil)...)
	const all = uuidA + ":1-6:_tag1:1-2:300"
	for name, c := range map[string]struct {
		at          Place
		want, doubt string
	}{
		"place":                           {Place{Offset: here}, "", ""},
		"all":                             {Place{Offset: here, GTIDs: all}, "", ""},
		"all, in capital letters":         {Place{Offset: here, GTIDs: strings.ToUpper(uuidA) + ":1-6:_TAG1:1-2:300"}, "", ""},
		"those of others too":             {Place{Offset: here, GTIDs: all + "," + uuidB + ":1-9"}, "", ""},
		"earlier ones that it has not":    {Place{Offset: begun, GTIDs: uuidA + ":1-5:_tag1:1-2:other:1-9"}, "", ""},
		"one of before is not executed":   {Place{Offset: here, GTIDs: uuidA + ":1-4:6:_tag1:1-2:300"}, uuidA + ":5, which the server had not executed", ""},
		"one of the file is not":          {Place{Offset: here, GTIDs: uuidA + ":1-5:_tag1:1-2:300"}, uuidA + ":6, which", ""},
		"one with a tag is not":           {Place{Offset: here, GTIDs: uuidA + ":1-6:_tag1:1-2"}, uuidA + ":_tag1:300, which", ""},
		"of another server":               {Place{Offset: here, GTIDs: uuidB + ":1-6"}, uuidA + ":1, which", ""},
		"more were executed":              {Place{Offset: here, GTIDs: uuidA + ":1-7:_tag1:1-2:300"}, "", "had executed " + uuidA + ":7, and the log"},
		"more were, before a restore":     {Place{Offset: begun, GTIDs: uuidA + ":1-5:_tag1:1-3"}, "", "had executed " + uuidA + ":_tag1:3, and"},
		"read apart, and one is on":       {Place{Offset: here, GTIDs: uuidA + ":1-5:_tag1:1-2", Apart: true}, "", ""},
		"read apart, and more were":       {Place{Offset: here, GTIDs: uuidA + ":1-9:_tag1:1-2:300", Apart: true}, "", ""},
		"read apart, and one is not":      {Place{Offset: here, GTIDs: uuidA + ":1-4:_tag1:1-2", Apart: true}, uuidA + ":5, which", ""},
		"read apart, amid others of that": {Place{Offset: here - 1, GTIDs: all, Apart: true}, "amid an event", ""},
	} {
		j := Joint{Place: c.at}
		err := j.In(bytes.NewReader(log))
		if c.want == "" && (err != nil || !j.Joined) || c.want != "" && (!errors.Is(err, ErrOther) || !strings.Contains(err.Error(), c.want) || j.Joined) {
			t.Errorf("%s: %v", name, err)
		}
		if (j.Doubt != "") != (c.doubt != "") || !strings.Contains(j.Doubt, c.doubt) {
			t.Errorf("%s: doubt %q", name, j.Doubt)
		}
	}
	j := Joint{Place: Place{Offset: here, GTIDs: "what is this"}}
	if err := j.In(bytes.NewReader(log)); err == nil || errors.Is(err, ErrOther) || j.Joined {
		t.Errorf("no set: %v", err)
	}
	long := Set{uuidA: nil}
	for i := range uint64(kept / 16) {
		long[uuidA] = append(long[uuidA], interval{1 + 2*i, 2 + 2*i})
	}
	more := bytes.Join([][]byte{head, entry(PreviousGTIDs, 0, long.encoded())}, nil)
	j = Joint{Place: Place{Offset: int64(len(more)), GTIDs: all}}
	if err := j.In(bytes.NewReader(more)); err != nil || !j.Joined {
		t.Errorf("more than is kept, and so not known: %v", err)
	}
}

// When a file was made tells of the first of a log that it is another. Of a later one it is what a session said.
func TestWhenItWasMade(t *testing.T) {
	head := sample()[:4+binary.LittleEndian.Uint32(sample()[13:])]
	list := func(n string) []byte {
		return entry(GTIDList, 0, n+"\x00\x00\x00"+strings.Repeat("\x07\x00\x00\x00", 4)[:16*int(n[0])])
	}
	made := time.Unix(1_800_000_000, 0)
	for name, c := range map[string]struct {
		list          []byte
		until         time.Time
		first         bool
		other, doubts bool
	}{
		"made in that second":            {list("\x00"), made, true, false, false},
		"made before":                    {list("\x00"), made.Add(time.Hour), true, false, false},
		"made later":                     {list("\x00"), made.Add(-time.Millisecond), true, true, false},
		"later, by its list":             {list("\x00"), made.Add(-time.Millisecond), false, true, false},
		"later, and not the first":       {list("\x01"), made.Add(-time.Millisecond), true, false, true},
		"later, of MySQL":                {nil, made.Add(-time.Millisecond), true, true, false},
		"later, of MySQL, not its first": {nil, made.Add(-time.Millisecond), false, false, true},
		"nobody knows":                   {list("\x00"), time.Time{}, true, false, false},
	} {
		log := append(bytes.Clone(head), c.list...)
		j := Joint{Place: Place{Offset: int64(len(log)), Until: c.until}, First: c.first}
		err := j.In(bytes.NewReader(log))
		if errors.Is(err, ErrOther) != c.other || err != nil && !strings.Contains(err.Error(), "it was made at") || (j.Doubt != "" && err == nil) != c.doubts || j.Joined == c.other {
			t.Errorf("%s: %v, doubt: %q", name, err, j.Doubt)
		}
	}
}
