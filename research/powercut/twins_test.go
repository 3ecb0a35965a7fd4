package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumb/research/powercut/writelog"
)

// innodb makes a page of this number and log position.
func innodb(number, lsn uint32) []byte {
	page := bytes.Repeat([]byte{byte(number)}, innodbPage)
	binary.BigEndian.PutUint32(page[4:], number)
	binary.BigEndian.PutUint32(page[20:], lsn)
	binary.BigEndian.PutUint32(page[innodbPage-4:], lsn)
	return page
}

// handLog is a log made by hand.
type handLog struct{ bytes.Buffer }

func newHandLog() *handLog {
	l := &handLog{}
	head := make([]byte, 512)
	binary.LittleEndian.PutUint64(head, 0x6a736677736872)
	binary.LittleEndian.PutUint64(head[8:], 1)
	binary.LittleEndian.PutUint32(head[24:], 512)
	l.Write(head)
	return l
}

func (l *handLog) entry(sector int, flags writelog.Flags, pages ...[]byte) {
	data := bytes.Join(pages, nil)
	head := make([]byte, 512)
	binary.LittleEndian.PutUint64(head, uint64(sector))
	binary.LittleEndian.PutUint64(head[8:], uint64(len(data)/512))
	binary.LittleEndian.PutUint64(head[16:], uint64(flags))
	l.Write(head)
	l.Write(data)
}

// findTwins tells a copy that was flushed before its page from one that was not.
func TestFindTwins(t *testing.T) {
	a, b, c, d := innodb(1, 10), innodb(2, 11), innodb(3, 12), innodb(4, 13)
	binary.BigEndian.PutUint32(d[innodbPage-4:], 99) // as MariaDB ends a page
	binary.BigEndian.PutUint32(d[innodbPage-8:], 13)
	torn := innodb(5, 14)
	torn[innodbPage-1]++
	h := newHandLog()
	h.entry(1000, 0, a, b)             // 0: two copies
	h.entry(0, writelog.Flush)         // 1
	h.entry(2000, 0, a)                // 2: after the flush, as it should be
	h.entry(1000, 0, c, torn, d)       // 3: the next batch
	h.entry(3000, 0, b)                // 4
	h.entry(4000, 0, c)                // 5: without a flush
	h.entry(5000, 0, d, torn)          // 6: without one too; what is no page is none
	h.entry(0, writelog.Flush)         // 7
	h.entry(4000, 0, c)                // 8: the same place again
	h.entry(6000, writelog.FUA, a[:0]) // 9: nothing
	l, err := writelog.Read(bytes.NewReader(h.Bytes()), int64(h.Len()))
	ok(t, err)
	e, all, err := findTwins(l, bytes.NewReader(h.Bytes()))
	ok(t, err)
	if want := (exposure{Pages: 4, Exposed: 2, Spans: 1, Of: 3}); *e != want {
		t.Errorf("%+v, want %+v", *e, want)
	}
	if len(all) != 2 || all[0] != (twins{3, 5}) || all[1] != (twins{3, 6}) {
		t.Errorf("%+v", all)
	}

	file := filepath.Join(t.TempDir(), "log")
	ok(t, os.WriteFile(file, h.Bytes(), 0o600))
	var said strings.Builder
	if err := countTwins(file, &said); err != nil || !strings.Contains(said.String(), "2 of 4 pages") {
		t.Errorf("%q, %v", said.String(), err)
	}
	if err := countTwins(file+"-none", &said); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}

	// A cut is aimed at the one or the other, after the first commits.
	marks := []mark{{records: 5, size: 1}, {records: 50, size: int64(h.Len())}}
	seen := map[int]bool{}
	for seed := range uint64(50) {
		c, records, err := aimCut(l, marks, all, seed)
		ok(t, err)
		seen[c.End] = true
		if records != 5 || c.End != 6 && c.End != 7 || c.Torn < 1 || c.Lost < 1 {
			t.Fatalf("%d, %s", records, c)
		}
	}
	if len(seen) != 2 {
		t.Errorf("%v", seen)
	}
	if _, _, err := aimCut(l, []mark{{records: 9, size: int64(h.Len()) - 1}}, all, 1); err == nil {
		t.Error("aimed before the first commits")
	}
}

// exposures adds up what the logs of a row had.
func TestExposures(t *testing.T) {
	r := rows()[0]
	var all []trial
	for i, e := range []*exposure{{Pages: 100, Exposed: 10, Spans: 2, Of: 30}, nil, {Pages: 50, Exposed: 1, Spans: 1, Of: 20}} {
		all = append(all, trial{Row: r.name, Hash: r.hash(), Kind: replayed, Session: i, Exposure: e, Outcome: outcome{Mounted: true, Started: true}})
	}
	text := table([]row{r}, all)
	if !strings.Contains(text, "11 of 150 pages, in 3 of 50 stretches of 2 logs") {
		t.Error(text)
	}
}
