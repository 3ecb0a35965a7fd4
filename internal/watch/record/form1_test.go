package record

import (
	"compress/gzip"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// encode1 writes a minute in form 1, which nothing but tests does any more.
func (m *minute) encode1() []byte {
	dst := binary.AppendUvarint(nil, uint64(len(m.order)))
	dst = appendInts(dst, 0, 0, m.order)
	for _, s := range m.sections {
		dst = appendTimes(dst, m.t0.UnixNano(), s.at)
		dst = appendTimes(dst, 0, s.took)
		dst = appendInts(dst, 0, 0, s.gaps)
		for i, values := range s.values {
			dst = appendMissing(dst, s.missing[i])
			dst = appendColumn(dst, 0, values)
		}
	}
	return dst
}

// form1 lays down a recording that the last plumb of form 1 wrote: eleven minutes of a
// maker with seed 8 and two series a source.
func form1(t *testing.T) (dir string) {
	t.Helper()
	packed, err := os.Open("testdata/form1.sqlite.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	plain, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(plain)
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(t.TempDir(), "watch")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, File), data, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// What is in it is known: made of the same seed.
func inForm1() (items []Item) {
	m := newMaker(8, 2)
	for i := range 11 * 60 {
		if i%40 == 0 {
			items = append(items, Item{At: m.at, Picture: m.picture()})
		}
		for _, b := range m.second() {
			items = append(items, Item{At: b.At, Batch: &b})
		}
	}
	return items
}

func TestRecordingOfForm1IsRead(t *testing.T) {
	dir := form1(t)
	if d := differs(inForm1(), read(t, dir, ever, later)); d != "" {
		t.Errorf("it reads differently:\n%.2000s", d)
	}
}

// Who records into it adds blocks of form 2, rolls up the old ones with the new, and an older plumb is told.
func TestRecordingOfForm1IsGoneOnWith(t *testing.T) {
	dir := form1(t)
	want := inForm1()
	m := newMaker(8, 2)
	for range 11 * 60 {
		m.second()
	}
	at := m.at
	w := opened(t, Options{Dir: dir, Now: func() time.Time { return at }})
	want = append(want, feed(w, m, 25)...)
	closed(t, w)
	if d := differs(want, read(t, dir, ever, later)); d != "" {
		t.Errorf("it reads differently:\n%.2000s", d)
	}
	r, err := OpenReader(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var form string
	var old, rolled int
	err = r.db.QueryRowContext(t.Context(), `SELECT (SELECT value FROM meta WHERE key = 'form'), (SELECT count(*) FROM block WHERE substr(data, 1, 1) <> x'02'), (SELECT count(*) FROM block WHERE tier = 10)`).Scan(&form, &old, &rolled)
	if err != nil || form != "2" || old != 11+1 || rolled != 3 {
		t.Errorf("form %s, %d blocks of form 1, %d of 10 s; %v", form, old, rolled, err)
	}
}
