package pitr

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"golang.org/x/mod/sumdb/note"

	"plumb/internal/archive"
	"plumb/internal/engine/mysql/binlog"
	"plumb/internal/host/hosttest"
	"plumb/internal/store/dir"
)

// entry writes one event with its checksum, as the test of the log's own package does.
func entry(kind byte, at time.Time, flags uint16, body string) []byte {
	b := make([]byte, 19)
	le := binary.LittleEndian
	le.PutUint32(b, uint32(at.Unix()))
	b[4] = kind
	le.PutUint32(b[5:], 7)
	le.PutUint32(b[9:], uint32(len(b)+len(body)+4))
	le.PutUint16(b[17:], flags)
	b = append(b, body...)
	sum := bytes.Clone(b)
	sum[17] &^= inUse
	return le.AppendUint32(b, crc32.ChecksumIEEE(sum))
}

var born = time.Unix(1_700_000_000, 0)

func begin() []byte { return beginAt(born) }

// beginAt begins a file that is made then.
func beginAt(at time.Time) []byte {
	return append([]byte("\xfebin"), entry(binlog.Format, at, inUse, "\x04\x00"+"10.11.19-MariaDB-log"+strings.Repeat("\x00", 30)+"\x00\x00\x00\x00\x13\x01")...)
}

func change(n int) []byte {
	return entry(binlog.Query, born.Add(time.Duration(n)*time.Second), 0, strings.Repeat("\x00", 8)+"\x04\x00\x00\x00\x00shop\x00"+fmt.Sprintf("INSERT %d", n))
}

func rotate(to string) []byte {
	return entry(binlog.Rotate, born, 0, "\x04\x00\x00\x00\x00\x00\x00\x00"+to)
}

// log is a server's directory, and what follows its log.
type log struct {
	t     *testing.T
	at    string
	shelf archive.Shelf
	k     *archive.Keeper
	f     *Follower
}

func newLog(t *testing.T) *log {
	t.Helper()
	d, err := dir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	private, public, err := note.GenerateKey(rand.Reader, "plumb-db1")
	if err != nil {
		t.Fatal(err)
	}
	sign, _ := note.NewSigner(private)
	v, _ := note.NewVerifier(public)
	l := &log{t: t, at: t.TempDir(), shelf: archive.Shelf{Store: d, Trust: []note.Verifier{v}, Keys: []age.Identity{key}},
		k: &archive.Keeper{Store: d, Sign: sign, Public: public, To: []age.Recipient{key.Recipient()}, Host: "db1", Now: time.Now}}
	l.anew()
	return l
}

// anew is a service that is started again.
func (l *log) anew() {
	l.f = &Follower{Do: hosttest.LiveDoer(l.t), Server: "mysql", Index: l.at + "/binlog.index"}
}

func (l *log) files(all ...string) {
	l.t.Helper()
	if err := os.WriteFile(l.at+"/binlog.index", []byte("./"+strings.Join(all, "\n./")+"\n"), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

func (l *log) write(name string, parts ...[]byte) {
	l.t.Helper()
	if err := os.WriteFile(filepath.Join(l.at, name), bytes.Join(parts, nil), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// turns lets it follow until there is no more, and gives why the log broke off.
func (l *log) turns() (breaks string) {
	l.t.Helper()
	for range 20 {
		got, err := l.f.Turn(l.t.Context(), l.k)
		if err != nil {
			l.t.Fatal(err)
		}
		breaks += got.Break
		if !got.More {
			if !got.Whole {
				l.t.Error("it is incomplete")
			}
			return breaks
		}
	}
	l.t.Fatal("there is always more")
	return ""
}

// kept gives what the archive has of the newest series.
func (l *log) kept() map[string]string {
	l.t.Helper()
	all, err := l.shelf.List(l.t.Context(), "")
	if err != nil {
		l.t.Fatal(err)
	}
	out := map[string]string{}
	series := bySeries(all)
	s := newShelfLog(l.shelf, series[len(series)-1], base{})
	for _, name := range s.names {
		var text bytes.Buffer
		if err := s.write(l.t.Context(), name, &text); err != nil {
			l.t.Fatal(err)
		}
		out[name] = text.String()
	}
	return out
}

func (l *log) has(want map[string][][]byte) {
	l.t.Helper()
	got := l.kept()
	for name, parts := range want {
		text := bytes.Join(parts, nil)
		text[flagAt] &^= inUse
		if got[name] != string(text) {
			l.t.Errorf("%s has %d bytes, and is to have %d", name, len(got[name]), len(text))
		}
	}
	if len(got) != len(want) {
		l.t.Errorf("%d files, and %d are wanted", len(got), len(want))
	}
}

// What is written is kept as it is written: amid an event, over files, by services that were started again.
func TestFollows(t *testing.T) {
	l := newLog(t)
	l.files("binlog.000001")
	l.write("binlog.000001", []byte("\xfe"))
	l.turns() // it is just being made
	l.write("binlog.000001", begin(), change(1), change(2)[:30])
	l.turns()
	l.has(map[string][][]byte{"binlog.000001": {begin(), change(1)}})
	l.write("binlog.000001", begin(), change(1), change(2), change(3))
	l.anew()
	l.turns()
	l.turns()
	l.has(map[string][][]byte{"binlog.000001": {begin(), change(1), change(2), change(3)}})
	l.write("binlog.000001", begin(), change(1), change(2), change(3), rotate("binlog.000002"))
	l.files("binlog.000001", "binlog.000002")
	l.write("binlog.000002", begin(), change(4))
	if why := l.turns(); why != "" {
		t.Error(why)
	}
	l.files("binlog.000002", "binlog.000003") // the first was purged, and the server died in the second
	l.write("binlog.000003", begin(), change(5))
	l.anew()
	if why := l.turns(); why != "" {
		t.Error(why)
	}
	l.has(map[string][][]byte{"binlog.000001": {begin(), change(1), change(2), change(3), rotate("binlog.000002")}, "binlog.000002": {begin(), change(4)}, "binlog.000003": {begin(), change(5)}})
	all, _ := l.shelf.List(t.Context(), "")
	if got := (Engine{}).Stretches(all); len(got) != 1 || got[0].Hole != "" {
		t.Errorf("%+v", got)
	}
}

// What is archived at once is so little that a line of 2 Mbit/s takes it within the minute that a turn may last: else a turn would be
// begun again and again.
func TestPiecesForASlowLine(t *testing.T) {
	l := newLog(t)
	l.files("binlog.000001")
	big := entry(23, born, 0, strings.Repeat("x", 1<<20))
	l.write("binlog.000001", begin(), bytes.Repeat(big, 20))
	got, err := l.f.Turn(t.Context(), l.k)
	if err != nil || !got.More || got.Whole || got.Bytes > 2_000_000/8*60 {
		t.Errorf("%+v, %v", got, err)
	}
	l.turns()
	l.has(map[string][][]byte{"binlog.000001": {begin(), bytes.Repeat(big, 20)}})
}

// broke compares why the log broke off, as a look at it says.
func (l *log) broke(want ...string) {
	l.t.Helper()
	got, err := l.f.Turn(l.t.Context(), l.k)
	if err != nil || len(got.Breaks) != len(want) {
		l.t.Fatalf("%+v, %v", got, err)
	}
	for i, b := range got.Breaks {
		if !strings.Contains(b.Why, want[i]) || time.Since(b.At) > time.Hour {
			l.t.Errorf("%+v", b)
		}
	}
}

// What cannot be gone on with begins a new series, and says why, also to a service that is started again.
func TestBreaks(t *testing.T) {
	for name, c := range map[string]struct {
		then func(*log)
		why  string
		want map[string][][]byte
	}{
		"reset": {func(l *log) {
			l.write("binlog.000001", begin(), change(7))
		}, "something else", map[string][][]byte{"binlog.000001": {begin(), change(7)}}},
		"set back": {func(l *log) {
			l.write("binlog.000001", begin(), change(1), change(8), change(9))
		}, "something else", map[string][][]byte{"binlog.000001": {begin(), change(1), change(8), change(9)}}},
		"cut": {func(l *log) {
			l.write("binlog.000001", begin(), change(1))
		}, "something else", map[string][][]byte{"binlog.000001": {begin(), change(1)}}},
		"purged": {func(l *log) {
			l.files("binlog.000003")
			l.write("binlog.000003", begin(), change(7))
		}, "no longer has binlog.000001", map[string][][]byte{"binlog.000003": {begin(), change(7)}}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLog(t)
			l.files("binlog.000001")
			l.write("binlog.000001", begin(), change(1), change(2))
			l.turns()
			l.broke()
			c.then(l)
			l.anew()
			if why := l.turns(); !strings.Contains(why, c.why) {
				t.Errorf("it says %q", why)
			}
			l.broke(c.why)
			l.has(c.want)
			l.anew()
			if why := l.turns(); why != "" {
				t.Errorf("again: %s", why)
			}
			l.broke(c.why)
		})
	}
}

// A server that was set back while the service was down, and has since come past the file that was archived last, writes another
// log: nothing of it joins on to that file, though its name does.
func TestSetBackPastTheEnd(t *testing.T) {
	for name, c := range map[string]struct {
		why    string
		second [][]byte
	}{
		"other": {"something else", [][]byte{begin(), change(8), change(7), rotate("binlog.000003")}},
		"cut":   {"something else", [][]byte{begin()}},
		"same":  {"", [][]byte{begin(), change(2), rotate("binlog.000003")}},
		"more":  {"", [][]byte{begin(), change(2), rotate("binlog.000003"), change(8)}}, // than was there when it was taken for whole
	} {
		t.Run(name, func(t *testing.T) {
			l := newLog(t)
			l.files("binlog.000001", "binlog.000002")
			l.write("binlog.000001", begin(), change(1), rotate("binlog.000002"))
			l.write("binlog.000002", begin(), change(2), rotate("binlog.000003"))
			l.turns()
			l.files("binlog.000001", "binlog.000002", "binlog.000003")
			l.write("binlog.000002", c.second...)
			l.write("binlog.000003", begin(), change(9))
			l.anew()
			if why := l.turns(); (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
				t.Errorf("it says %q", why)
			}
			l.has(map[string][][]byte{"binlog.000001": {begin(), change(1), rotate("binlog.000002")}, "binlog.000002": c.second, "binlog.000003": {begin(), change(9)}})
			if why := l.turns(); why != "" {
				t.Errorf("again: %s", why)
			}
		})
	}
}

// A file that cannot be read, or is damaged, ends nothing and begins nothing.
func TestUnread(t *testing.T) {
	l := newLog(t)
	l.files("binlog.000001")
	l.write("binlog.000001", begin(), change(1))
	l.turns()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Rename(l.at+"/binlog.000001", l.at+"/aside"))
	if _, err := l.f.Turn(t.Context(), l.k); err == nil {
		t.Error("a file that is not there")
	}
	broken := change(2)
	broken[25] ^= 1
	l.write("binlog.000001", begin(), change(1), broken)
	if _, err := l.f.Turn(t.Context(), l.k); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("a damaged one: %v", err)
	}
	l.write("binlog.000001", begin(), change(1), change(2))
	if why := l.turns(); why != "" {
		t.Error(why)
	}
	l.has(map[string][][]byte{"binlog.000001": {begin(), change(1), change(2)}})
}

func part(name, text string) []byte {
	le := binary.LittleEndian
	b := append([]byte(chunkMagic+"\x00P"), le.AppendUint32(nil, uint32(len(name)))...)
	b = append(b, name...)
	b = le.AppendUint64(b, uint64(len(text)))
	b = append(b, make([]byte, 12)...)
	return append(b, text...)
}

func last(name string) []byte {
	return append(append([]byte(chunkMagic+"\x00E"), binary.LittleEndian.AppendUint32(nil, uint32(len(name)))...), name...)
}

func watch(text []byte) map[string]string {
	b := NewBase()
	for len(text) > 0 {
		n, _ := b.Write(text[:min(1000, len(text))])
		text = text[n:]
	}
	return b.Facts()
}

func stream() []byte {
	return bytes.Join([][]byte{part("ibdata1", strings.Repeat("x", 100_000)), part("xtrabackup_binlog_info", "binlog.000002\t"), part("ibdata1", "y"), last("ibdata1"),
		part("xtrabackup_binlog_info", "1234\t0-7-55,1-7-3\n"), last("xtrabackup_binlog_info"), part("xtrabackup_info", "tool_version = 1\nserver_version = 10.11.14-MariaDB-log\n")}, nil)
}

func TestBase(t *testing.T) {
	want := map[string]string{factVersion: "10.11.14-MariaDB-log", factFile: "binlog.000002", factAt: "1234", factGTID: "0-7-55,1-7-3"}
	if got := watch(stream()); !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
	for what, text := range map[string][]byte{"cut": stream()[:len(stream())-9], "nothing": nil, "noise": bytes.Repeat([]byte("noise"), 10_000),
		"no log": part("xtrabackup_info", "server_version = 10.11.14-MariaDB-log\n")} {
		if got := watch(text); got != nil {
			t.Errorf("%s: %v", what, got)
		}
	}
}

func FuzzForeign(f *testing.F) {
	f.Add(stream())
	f.Add(bytes.Join([][]byte{begin(), change(1), rotate("binlog.000002")}, nil))
	f.Fuzz(func(t *testing.T, text []byte) {
		watch(text)
		summed, err := binlog.ReadHead(bytes.NewReader(text))
		if err == nil {
			_ = binlog.Resume(bytes.NewReader(text[4:]), 4, summed, func(binlog.Event) error { return nil })
		}
		Engine{}.Stretches([]archive.Piece{{Series: "20261126T000000Z-0123abcd", File: string(text), To: 7}})
		Engine{}.Places([]archive.Piece{{Series: "20261126T000000Z-0123abcd", File: string(text), To: 7}})
	})
}
