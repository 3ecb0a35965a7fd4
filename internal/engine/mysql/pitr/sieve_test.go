package pitr

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"maps"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// chunkFor makes a chunk of a stream as mbstream reads it.
func chunkFor(kind byte, name, text string) []byte {
	b := append([]byte(chunkMagic), 0, kind)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(name)))
	b = append(b, name...)
	if kind == isPayload {
		b = binary.LittleEndian.AppendUint64(b, uint64(len(text)))
		b = append(b, make([]byte, 8+4)...)
		b = append(b, text...)
	}
	return b
}

func renamed(from, to string) []byte {
	b := binary.LittleEndian.AppendUint32(chunkFor(isRename, from, ""), uint32(len(to)))
	return append(b, to...)
}

func sought(name string, at uint64) []byte {
	return binary.LittleEndian.AppendUint64(chunkFor(isSeek, name, ""), at)
}

// TestTableChangedMeanwhile has what mariadb-backup writes of tables that were dropped, renamed or made anew while it ran: it is
// a base all the same, and what is done to a file is done where it is unpacked.
func TestTableChangedMeanwhile(t *testing.T) {
	changed := slicesOf(chunkFor(isRemoval, "./test/t.MAD", ""), chunkFor(isRemoval, "./test/p#P#*", ""), renamed("./test/u.MAI", "./test/v.MAI"), sought("./test/v.MAD", 8192))
	if got := watch(slicesOf(changed, stream(), changed)); got[factFile] != "binlog.000002" {
		t.Errorf("it is no base: %v", got)
	}
	var out bytes.Buffer
	if err := (Engine{}).Sieve(bytes.NewReader(changed), &out); err != nil || !bytes.Equal(out.Bytes(), changed) {
		t.Errorf("%v, %d of %d bytes", err, out.Len(), len(changed))
	}
	out.Reset()
	if err := (Engine{}).Sieve(bytes.NewReader(renamed("a", "b.isl")), &out); err != nil || out.Len() > 0 {
		t.Errorf("it says where a table lies: %v, %q", err, &out)
	}
	for _, evil := range [][]byte{chunkFor(isRemoval, "../x", ""), renamed("../x", "x"), renamed("x", "../x"), renamed("x", ""), sought("/x", 1)} {
		if err := (Engine{}).Sieve(bytes.NewReader(evil), &out); err == nil || out.Len() > 0 {
			t.Errorf("%q: %v, %q", evil, err, &out)
		}
	}
}

// TestChunksOfMbstream has the installed mbstream do what chunks of each type say.
func TestChunksOfMbstream(t *testing.T) {
	if _, err := exec.LookPath("mbstream"); err != nil {
		t.Skip("mbstream is not installed: apt-get install mariadb-backup")
	}
	payload := func(name, text string, at uint64) []byte {
		b := chunkFor(isPayload, name, text)
		rest := b[len(b)-len(text)-8-4:]
		binary.LittleEndian.PutUint64(rest, at)
		binary.LittleEndian.PutUint32(rest[8:], crc32.ChecksumIEEE([]byte(text)))
		return b
	}
	in := slicesOf(payload("a", "rows", 0), chunkFor(isEnd, "a", ""), renamed("a", "b"), payload("c", "head", 0), sought("c", 100), payload("c", "tail", 100), chunkFor(isEnd, "c", ""),
		payload("d", "rows", 0), chunkFor(isEnd, "d", ""), chunkFor(isRemoval, "d", ""))
	var passed bytes.Buffer
	if err := (Engine{}).Sieve(bytes.NewReader(in), &passed); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.Command("mbstream", "-x", "-C", dir)
	cmd.Stdin = &passed
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%v: %s", err, out)
	}
	sizes := map[string]int64{}
	all, err := os.ReadDir(dir)
	for _, e := range all {
		if st, err := e.Info(); err == nil {
			sizes[e.Name()] = st.Size()
		}
	}
	if want := map[string]int64{"b": 4, "c": 104}; err != nil || !maps.Equal(sizes, want) {
		t.Errorf("%v, and not %v, %v", sizes, want, err)
	}
}

func TestSieve(t *testing.T) {
	good := slicesOf(chunkFor(isPayload, "./test/t.ibd", "rows"), chunkFor(isPayload, "test/..t..frm", "x"), chunkFor(isEnd, "./test/t.ibd", ""))
	var out bytes.Buffer
	if err := (Engine{}).Sieve(bytes.NewReader(good), &out); err != nil || !bytes.Equal(out.Bytes(), good) {
		t.Errorf("%v, %d of %d bytes", err, out.Len(), len(good))
	}
	for _, name := range []string{"../x", "a/../../x", "/etc/x", "..", "", "a\x00b"} {
		out.Reset()
		err := (Engine{}).Sieve(bytes.NewReader(slicesOf(good, chunkFor(isPayload, name, "evil"))), &out)
		if err == nil || out.Len() != len(good) {
			t.Errorf("%q: %v, and %d bytes were passed on behind what is good", name, err, out.Len()-len(good))
		}
	}
	out.Reset()
	link := slicesOf(chunkFor(isPayload, "./test/far.isl", "/srv/far/test/far.ibd"), chunkFor(isEnd, "./test/far.isl", ""))
	if err := (Engine{}).Sieve(bytes.NewReader(slicesOf(link, good, link)), &out); err != nil || !bytes.Equal(out.Bytes(), good) {
		t.Errorf("with where a table lies: %v, %d of %d bytes", err, out.Len(), len(good))
	}
	for _, cut := range []int{1, 20, len(good) - 1} {
		if err := (Engine{}).Sieve(bytes.NewReader(good[:cut]), io.Discard); err == nil || !strings.Contains(err.Error(), "EOF") {
			t.Errorf("cut at %d: %v", cut, err)
		}
	}
}

func slicesOf(all ...[]byte) []byte { return bytes.Join(all, nil) }

// Whatever a stream says, what is passed on names no file that lies elsewhere.
func FuzzSieve(f *testing.F) {
	f.Add(slicesOf(chunkFor(isPayload, "./a", "b"), chunkFor(isEnd, "./a", "")))
	f.Add(chunkFor(isPayload, "../a", "b"))
	f.Add(chunkFor(isPayload, "a.isl", "/b"))
	f.Add(slicesOf(renamed("a.MAD", "b.MAD"), chunkFor(isRemoval, "a.MAI", ""), sought("a", 7)))
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		err := (Engine{}).Sieve(bytes.NewReader(in), &out)
		if out.Len() > len(in) {
			t.Errorf("%d of %d bytes, %v", out.Len(), len(in), err)
		}
		for r := bytes.NewReader(out.Bytes()); r.Len() > 0; {
			c, err := chunkOf(r)
			if err != nil || c.size > int64(r.Len()) {
				break
			}
			for _, name := range c.names {
				if !inside(name) || strings.HasSuffix(name, elsewhere) {
					t.Fatalf("%q was passed on", name)
				}
			}
			_, _ = r.Seek(c.size, io.SeekCurrent)
		}
	})
}
