package binlog

import (
	"bytes"
	"encoding/binary"
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
