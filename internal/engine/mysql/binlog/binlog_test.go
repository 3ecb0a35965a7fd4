package binlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"strings"
	"testing"
)

// entry writes one event with its checksum.
func entry(kind byte, flags uint16, body string) []byte {
	b := make([]byte, header)
	le := binary.LittleEndian
	le.PutUint32(b, 1_800_000_000)
	b[4] = kind
	le.PutUint32(b[5:], 7)
	le.PutUint32(b[9:], uint32(header+len(body)+4))
	le.PutUint16(b[17:], flags)
	b = append(b, body...)
	sum := bytes.Clone(b)
	sum[17] &^= inUse
	return le.AppendUint32(b, crc32.ChecksumIEEE(sum))
}

func sample() []byte {
	gtid := make([]byte, 19)
	gtid[0], gtid[8] = 42, 3
	format := "\x04\x00" + "10.11.19-MariaDB-log" + strings.Repeat("\x00", 30) + "\x00\x00\x00\x00\x13\x01"
	return bytes.Join([][]byte{[]byte("\xfebin"), entry(Format, inUse, format), entry(GTIDMaria, 0, string(gtid)),
		entry(Query, 0, strings.Repeat("\x00", 8)+"\x04\x00\x00\x00\x00shop\x00DROP TABLE t"), entry(Rotate, 0, "\x04\x00\x00\x00\x00\x00\x00\x00binlog.000002")}, nil)
}

func TestScan(t *testing.T) {
	var said []string
	err := Scan(bytes.NewReader(sample()), func(e Event) error {
		gtid, _ := e.Begins()
		db, text := e.Statement()
		said = append(said, gtid+db+text)
		if e.Type == Format && e.Version() != "10.11.19-MariaDB-log" || e.Type == Rotate && e.Next() != "binlog.000002" {
			t.Errorf("%+v", e)
		}
		return nil
	})
	if want := "|3-7-42|shopDROP TABLE t|"; err != nil || strings.Join(said, "|") != want {
		t.Errorf("%q, %v; want %q", strings.Join(said, "|"), err, want)
	}
	nothing := func(Event) error { return nil }
	whole := sample()
	for i := 23; i < len(whole); i++ {
		broken := bytes.Clone(whole)
		broken[i] ^= 0x10
		if i == 4+17 || Scan(bytes.NewReader(broken), nothing) != nil {
			continue
		}
		t.Errorf("byte %d may be anything", i)
	}
	if err := Scan(bytes.NewReader(whole[:len(whole)-1]), nothing); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a cut one: %v", err)
	}
	long := sample()
	at := len(long) - len(entry(Rotate, 0, "\x04\x00\x00\x00\x00\x00\x00\x00binlog.000002"))
	binary.LittleEndian.PutUint32(long[at+13:], uint32(len(long)))
	long[at+10] ^= 1 // 256 bytes longer than it is
	if err := Scan(bytes.NewReader(long), nothing); err == nil || errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("one that says that it is longer is taken for a cut one: %v", err)
	}
	if err := Scan(strings.NewReader("\xfdbin"), nothing); !errors.Is(err, ErrEncrypted) {
		t.Errorf("an encrypted one: %v", err)
	}
}

func FuzzScan(f *testing.F) {
	f.Add(sample())
	f.Fuzz(func(t *testing.T, text []byte) {
		_ = Scan(bytes.NewReader(text), func(e Event) error {
			e.Begins()
			e.Statement()
			e.List()
			e.Next()
			e.Version()
			return nil
		})
	})
}

// The place at which what a server wrote last is whole: a file can end amid a transaction, wherever it is cut.
func TestWhole(t *testing.T) {
	gtid := func(alone byte) []byte {
		return entry(GTIDMaria, 0, strings.Repeat("\x00", 12)+string(alone)+strings.Repeat("\x00", 6))
	}
	query := func(text string) []byte {
		return entry(Query, 0, strings.Repeat("\x00", 8)+"\x04\x00\x00\x00\x00shop\x00"+text)
	}
	xid, rows := entry(XID, 0, "\x01\x00\x00\x00\x00\x00\x00\x00"), entry(23, 0, "rows")
	mysql := entry(GTID, 0, strings.Repeat("\x00", 25))
	head := sample()[:4+len(entry(Format, 0, "\x04\x00"+strings.Repeat("\x00", 50)+"\x00\x00\x00\x00\x13\x01"))]
	for name, transaction := range map[string][]byte{
		"rows":                    bytes.Join([][]byte{gtid(0), rows, rows, xid}, nil),
		"statements":              bytes.Join([][]byte{gtid(0), query("INSERT 1"), query("INSERT 2"), query("COMMIT")}, nil),
		"a statement that is one": bytes.Join([][]byte{gtid(1), query("DROP TABLE t")}, nil),
		"of MySQL":                bytes.Join([][]byte{mysql, query("BEGIN"), rows, xid}, nil),
	} {
		whole := bytes.Join([][]byte{head, transaction, entry(161, 0, "checkpoint")}, nil)
		second := append(bytes.Clone(whole), transaction...)
		for cut := len(whole); cut <= len(second); cut++ {
			want := len(whole)
			if cut == len(second) {
				want = cut
			}
			if end, err := Whole(bytes.NewReader(second[:cut])); err != nil || end != int64(want) {
				t.Errorf("%s, cut at %d of %d: %d, %v; want %d", name, cut, len(second), end, err, want)
			}
		}
	}
	if _, err := Whole(strings.NewReader("\xfdbin")); !errors.Is(err, ErrEncrypted) {
		t.Errorf("an encrypted one: %v", err)
	}
}
