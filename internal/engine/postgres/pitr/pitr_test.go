package pitr

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/archive"
	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/moment"
	"plumb/internal/engine/postgres/wal"
	"plumb/internal/hint"
	"plumb/internal/store/dir"
)

const size = 1 << 20

// head is the beginning of a segment.
func head(system uint64, timeline uint32, at uint64) []byte {
	b := make([]byte, wal.HeadSize)
	o := binary.NativeEndian
	o.PutUint16(b, 0xD110)
	o.PutUint16(b[2:], 2)
	o.PutUint32(b[4:], timeline)
	o.PutUint64(b[8:], at)
	o.PutUint64(b[24:], system)
	o.PutUint32(b[32:], size)
	o.PutUint32(b[36:], 8192)
	return b
}

func TestCheck(t *testing.T) {
	name := wal.Name(2, 5*size, size)
	for _, c := range []struct {
		name string
		size int64
		head []byte
		want string
	}{
		{name, size, head(7, 2, 5*size), ""},
		{name, size, head(7, 1, 5*size), ""}, // its first page was copied from the timeline before
		{name + ".partial", size, head(7, 2, 5*size), ""},
		{name, size, head(8, 2, 5*size), "belongs to the server 8"},
		{name, size, head(7, 3, 5*size), "says that it is"},
		{name, size, head(7, 2, 6*size), "says that it is"},
		{name, 2 * size, head(7, 2, 5*size), "bytes, and says"},
		{name, size, []byte("text"), "does not begin"},
		{"00000002.history", 40, []byte("1\t0/5000000\tno recovery target\n"), ""},
		{"00000002.history", 40, make([]byte, 40), "is not text"},
		{"00000002.history", 2 << 20, []byte("1"), "is the most"},
		{name + ".00000028.backup", 40, []byte("START"), ""},
		{"../" + name, size, head(7, 2, 5*size), "not a file that PostgreSQL archives"},
		{"postgresql.conf", 4, []byte("port"), "not a file that PostgreSQL archives"},
	} {
		err := Check(c.name, c.size, 7, c.head)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestHistory(t *testing.T) {
	got, err := readHistory(4, []byte("# a note\n1\t0/500028\tafter LSN\n\n\n3\t0/700000\tno recovery target\n"))
	if want := []stretch{{1, 0}, {3, 0x500028}, {4, 0x700000}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for _, text := range []string{"1 what", "2\t0/5\n1\t0/6\n", "1\t0/6\n2\t0/5\n", "4\t0/5\n", "9\t0/5\n"} {
		if got, err := readHistory(4, []byte(text)); err == nil {
			t.Errorf("%q gives %v", text, got)
		}
	}
}

func segments(timeline int, numbers ...uint64) (all []archive.Piece) {
	for _, n := range numbers {
		all = append(all, archive.Piece{Server: "s", Series: Series, File: wal.Name(timeline, n*size, size), To: size})
	}
	return all
}

func files(all []archive.Piece) string {
	var names []string
	for _, p := range all {
		names = append(names, strings.TrimLeft(p.File[:8], "0")+"-"+strings.TrimLeft(p.File[16:], "0"))
	}
	return strings.Join(names, " ")
}

// The way follows the timelines, and takes the segment in which one parted from the newer when it is there.
func TestRun(t *testing.T) {
	for _, c := range []struct {
		name    string
		all     []archive.Piece
		want    string
		missing string
		hole    bool
		until   uint64
	}{
		{"whole", slices.Concat(segments(1, 2, 3, 4, 5, 6), segments(2, 5, 6, 7)), "1-3 1-4 2-5 2-6 2-7", wal.Name(2, 8*size, size), false, 0},
		{"parted, and not yet archived", segments(1, 3, 4, 5), "1-3 1-4 1-5", wal.Name(2, 5*size, size), false, 5*size + 100},
		{"the old one goes on", slices.Concat(segments(1, 3, 4, 5, 6, 7, 8), segments(2, 5)), "1-3 1-4 2-5", wal.Name(2, 6*size, size), false, 0},
		{"hole", slices.Concat(segments(1, 3), segments(2, 5, 6)), "1-3", wal.Name(1, 4*size, size), true, 0},
		{"hole on the new one", slices.Concat(segments(1, 3, 4), segments(2, 5, 7)), "1-3 1-4 2-5", wal.Name(2, 6*size, size), true, 0},
		{"nothing", segments(1, 9), "", wal.Name(1, 3*size, size), false, 0}, // 9 is not on the way
		{"parted, and a later one is there", slices.Concat(segments(1, 3, 4, 5), segments(2, 6)), "1-3 1-4 1-5", wal.Name(2, 5*size, size), true, 5*size + 100},
	} {
		w, err := newWindow(c.all)
		if err != nil {
			t.Fatal(err)
		}
		w.way = []stretch{{1, 0}, {2, 5*size + 100}}
		got := w.run(3*size + 5000)
		if files(got.pieces) != c.want || got.missing != c.missing || got.hole != c.hole || got.until != c.until {
			t.Errorf("%s: %s, %s, %t, %X", c.name, files(got.pieces), got.missing, got.hole, got.until)
		}
	}
	if _, err := newWindow([]archive.Piece{{Series: Series, File: wal.Name(1, 0, size), To: 12345}}); err == nil {
		t.Error("a segment of any size")
	}
	all := segments(1, 1, 2, 3)
	all[0].To = 12345
	if w, err := newWindow(all); err != nil || len(w.segments) != 2 {
		t.Errorf("beside what no server writes: %+v, %v", w, err)
	}
	all = segments(1, 2, 3)
	all[1].To = 2 * size // as somebody may have named it who can write to the bucket
	if _, err := newWindow(all); err == nil || !strings.Contains(err.Error(), all[0].Name()) || !strings.Contains(err.Error(), all[1].Name()) || hint.Of(err) == "" {
		t.Errorf("segments of two sizes: %v", err)
	}
}

func TestStretches(t *testing.T) {
	all := slices.Concat(segments(1, 2, 3, 5), segments(2, 5))
	got := Engine{}.Stretches(append(all, archive.Piece{Server: "t", Series: Series, File: wal.Name(1, 0, size), To: 1 << 32})) // of no size that there is
	if len(got) != 3 || got[0].Hole != "" || got[0].Pieces != 2 || got[1].Hole != wal.Name(1, 4*size, size) || got[2].Hole != "" {
		t.Errorf("%+v", got)
	}
}

func TestPlaces(t *testing.T) {
	all := segments(1, 2, 3)
	for _, name := range []string{wal.Name(1, 3*size, size) + ".partial", wal.Name(1, 2*size, size) + ".00000028.backup", "00000002.history", wal.Name(2, 4*size, size), "notes"} {
		all = append(all, archive.Piece{Server: Server(7), Series: Series, File: name, To: size})
	}
	all = append(all, archive.Piece{Server: Server(7), Series: "other", File: wal.Name(1, 0, size), To: size}, archive.Piece{Server: Server(7), Series: Series, File: wal.Name(1, 0, size), To: 12345})
	for i := range all {
		all[i].Server = Server(7)
	}
	all[3].To = 300
	want := []string{"1 0/2FFFFF", "1 0/3FFFFF", "1 0/3FFFFF", "1 0/2FFFFF", "", "2 0/4FFFFF", "", "", ""}
	for i, at := range (Engine{}).Places(all) {
		got := ""
		if at.Key != "" {
			got = fmt.Sprint(at.Line, " ", at.Text)
		}
		if got != want[i] {
			t.Errorf("%s: %q, and it should be %q", all[i].File, got, want[i])
		}
	}
	m := manifest.Manifest{Facts: map[string]string{factSystem: "7", factStart: "0/300028", factTimeline: "1"}}
	at, in, err := Engine{}.Begins(m, all)
	if err != nil || !slices.Equal(in, all[1:2]) || at.Text != "0/300028" || at.Line != 1 || at.Key >= place(4*size, 1).Key || at.Key <= place(3*size-1, 9).Key {
		t.Errorf("%+v, %+v, %v", at, in, err)
	}
	m.Facts[factTimeline] = "2" // what timeline 1 wrote there is of another past
	if at, in, err := (Engine{}).Begins(m, all); err != nil || len(in) > 0 || at.Line != 2 {
		t.Errorf("of a later timeline: %+v, %+v, %v", at, in, err)
	}
	m.Facts[factStart] = "0/500000"
	if at, in, err := (Engine{}).Begins(m, all); err != nil || len(in) > 0 || at.Key == "" {
		t.Errorf("%+v, %+v, %v", at, in, err)
	}
	m.Facts[factStart] = ""
	if _, _, err := (Engine{}).Begins(m, all); err == nil {
		t.Error("where it begins is not known")
	}
	m.Facts[factSystem] = "8"
	if at, _, err := (Engine{}).Begins(m, all); err != nil || at.Key != "" {
		t.Errorf("of another server: %+v, %v", at, err)
	}
}

// tape makes what pg_basebackup writes.
func tape(t testing.TB, names ...string) []byte {
	texts := map[string]string{
		"backup_label":      "START WAL LOCATION: 0/2000028 (file 000000010000000000000002)\nCHECKPOINT LOCATION: 0/2000060\nSTART TIMELINE: 1\n",
		"PG_VERSION":        "15\n",
		"global/pg_control": string(binary.NativeEndian.AppendUint64(nil, 7)) + strings.Repeat("x", 8000),
		"backup_manifest":   `{ "Files": [` + strings.Repeat(" ", 100_000) + `], "WAL-Ranges": [ { "Timeline": 1, "Start-LSN": "0/2000028", "End-LSN": "0/2000100" } ], "Manifest-Checksum": "x"}`,
		"base/1/2":          strings.Repeat("y", 70_000),
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, name := range names {
		err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(texts[name]))})
		if err == nil {
			_, err = w.Write([]byte(texts[name]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func watch(text []byte) map[string]string {
	b := NewBase()
	for len(text) > 0 {
		n, _ := b.Write(text[:min(1000, len(text))])
		text = text[n:]
	}
	return b.Facts()
}

func TestBase(t *testing.T) {
	whole := tape(t, "backup_label", "PG_VERSION", "base/1/2", "global/pg_control", "backup_manifest")
	want := map[string]string{factStart: "0/2000028", factEnd: "0/2000100", factTimeline: "1", factSystem: "7", factVersion: "15", factLog: logNone}
	if got := watch(whole); !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
	delete(want, factEnd)
	if got := watch(tape(t, "backup_label", "PG_VERSION", "global/pg_control")); !maps.Equal(got, want) {
		t.Errorf("without a manifest: %v", got)
	}
	want[factLog] = logIncluded
	if got := watch(tape(t, "backup_label", "PG_VERSION", "global/pg_control", "pg_wal/archive_status/x", "pg_wal/"+wal.Name(1, 2*size, size))); !maps.Equal(got, want) {
		t.Errorf("with its log: %v", got)
	}
	for what, text := range map[string][]byte{"cut": whole[:len(whole)/2], "no label": tape(t, "PG_VERSION", "global/pg_control"), "nothing": nil, "noise": bytes.Repeat([]byte("noise"), 10_000)} {
		if got := watch(text); got != nil {
			t.Errorf("%s: %v", what, got)
		}
	}
}

func FuzzForeign(f *testing.F) {
	f.Add("00000002.history", tape(f, "backup_label", "PG_VERSION", "global/pg_control"))
	f.Add(wal.Name(1, 5*size, size), head(7, 1, 5*size))
	f.Add("00000004.history", []byte("1\t0/500028\tafter LSN\n"))
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		_ = Check(name, int64(len(text)), 7, text)
		_, _ = readHistory(9, text)
		_, _ = wal.ReadHead(text)
		watch(text)
		if w, err := newWindow([]archive.Piece{{Series: Series, File: name, To: size}}); err == nil {
			w.way = []stretch{{1, 0}, {2, 5 * size}}
			w.run(0)
		}
		Engine{}.Stretches([]archive.Piece{{Series: Series, File: name, To: size}})
		Engine{}.Places([]archive.Piece{{Series: Series, File: name, To: size}})
	})
}

// A whole segment is told by its name alone: 24 digits as the server writes them.
func TestWhole(t *testing.T) {
	for name, want := range map[string]bool{"000000020000000100000003": true, "FFFFFFFFFFFFFFFFFFFFFFFF": true, "000000020000000100000003.partial": false, "000000020000000100000003\n": false,
		"00000002000000010000000": false, "00000002000000010000000a": false, "00000002 00000010000000": false, "00000002.history": false, "": false} {
		if _, _, is := whole(name, 1<<24); is != want {
			t.Errorf("%q: %t", name, is)
		}
	}
	if timeline, at, _ := whole("000000020000000100000003", 1<<24); timeline != 2 || at != 1<<32+3<<24 {
		t.Errorf("%d, %X", timeline, at)
	}
}

// A base goes nowhere where the archive has no log, and is what it was when it ended if it has the log for that: the error says so.
func TestAlone(t *testing.T) {
	d, err := dir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	r := moment.Restore{Restore: backup.Restore{Vault: backup.Vault{Store: d}}, Engines: []moment.Engine{Engine{}}}
	for log, want := range map[string]struct {
		alone, hint string
		notes       int
	}{
		logIncluded: {"", "--to base", 0},
		"":          {"", "--to base", 1},
		logNone:     {"no server starts on it", "take a later one", 0},
	} {
		m := manifest.Manifest{ID: "20261127T120000Z-0a0b0c0d", Streams: make([]manifest.Stream, 1), Facts: map[string]string{factSystem: "7", factVersion: "15", factStart: "0/2000028", factEnd: "0/2000100", factTimeline: "1", factLog: log}}
		var a moment.Asked
		if err := a.Read(moment.Latest, time.Now()); err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.Plan(t.Context(), m, a); err == nil || !strings.Contains(err.Error(), "the archive has no WAL of the server") || !strings.Contains(hint.Of(err), want.hint) {
			t.Errorf("%q: %v, hint: %s", log, err, hint.Of(err))
		}
		if err := a.Read(moment.Base, time.Now()); err != nil {
			t.Fatal(err)
		}
		w, _, err := r.Plan(t.Context(), m, a)
		if want.alone != "" {
			if err == nil || !strings.Contains(err.Error(), want.alone) {
				t.Errorf("%q: %v", log, err)
			}
		} else if err != nil || w.Last != "0/2000100" || w.Files != 0 || len(w.Notes) != want.notes {
			t.Errorf("%q: %+v, %v", log, w, err)
		}
	}
}
