package tape

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func text(s string) *Text { t := Text(s); return &t }

func sample() *Tape {
	return &Tape{
		About: json.RawMessage(`{"user":"root"}`),
		Entries: []Entry{
			{Op: "run", Of: Texts("zpool", "list"), Error: "no_command", Says: "run zpool list: command not found"},
			{Op: "file", Of: Texts("/proc/1/cmdline"), Text: text("a\x00<b>&\u2028\x00")},
			{Op: "file", Of: Texts("/etc/latin1"), Text: text("gr\xfc\xdfe")},
			{Op: "file", Of: Texts("/sample"), Text: text("2")},
			{Op: "file", Of: Texts("/sample"), Text: text("1")},
			{Op: "file", Of: Texts("/empty"), Text: text("")},
			{Op: "glob", Of: Texts("/\xff*"), Value: json.RawMessage(`["a"]`)},
		},
	}
}

func written(t testing.TB, tape *Tape) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := Write(&buf, tape); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestReadGivesWhatWasWritten(t *testing.T) {
	want := sample()
	got, err := Read(bytes.NewReader(written(t, want)), "x")
	if err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(want.Entries, Entry.Compare)
	if dump(got) != dump(want) {
		t.Errorf("got\n%s\nwant\n%s", dump(got), dump(want))
	}
}

func dump(t *Tape) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", t.About)
	for _, e := range t.Entries {
		fmt.Fprintf(&b, "%s %q %s %s %q", e.Op, e.Of, e.Value, e.Error, e.Says)
		if e.Text != nil {
			fmt.Fprintf(&b, " %q", *e.Text)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestWriteDoesNotDependOnTheOrderOfCalls(t *testing.T) {
	want := written(t, sample())
	for range 20 {
		mixed := sample()
		rand.Shuffle(len(mixed.Entries), func(i, j int) {
			if slices.Compare(mixed.Entries[i].Of, mixed.Entries[j].Of) != 0 {
				mixed.Entries[i], mixed.Entries[j] = mixed.Entries[j], mixed.Entries[i]
			}
		})
		// The two answers of one call keep their order among themselves.
		i := slices.IndexFunc(mixed.Entries, func(e Entry) bool { return e.Of[0] == "/sample" })
		mixed.Entries[i].Text = text("2")
		j := i + 1 + slices.IndexFunc(mixed.Entries[i+1:], func(e Entry) bool { return e.Of[0] == "/sample" })
		mixed.Entries[j].Text = text("1")
		if got := written(t, mixed); !bytes.Equal(got, want) {
			t.Fatalf("got\n%s\nwant\n%s", got, want)
		}
	}
}

func TestReadUnpacksGzip(t *testing.T) {
	var buf bytes.Buffer
	zip := gzip.NewWriter(&buf)
	zip.Write(written(t, sample()))
	zip.Close()
	got, err := Read(&buf, "x.tape.gz")
	if err != nil || len(got.Entries) != len(sample().Entries) {
		t.Fatalf("%v, %v", got, err)
	}
}

func TestReadSaysWhatIsWrong(t *testing.T) {
	good := string(written(t, sample()))
	lines := strings.SplitAfter(good, "\n")
	for _, tt := range []struct{ name, data, want, hint string }{
		{"empty", "", "tape x: is not a Plumb tape", hintForeign},
		{"foreign", "#!/bin/sh\n", "tape x: is not a Plumb tape", hintForeign},
		{"foreign json", `{"a":1}`, "tape x: is not a Plumb tape", hintForeign},
		{"bad gzip", "\x1f\x8bxxxxxxxxxxxxxxx", "tape x: cannot be decompressed: gzip: invalid header", hintAgain},
		{"newer", `{"plumb_tape":2}` + "\n", "tape x, line 1: format 2 is newer than this Plumb, which reads up to 1", hintNewer},
		{"cut in the header", `{"plumb_tape":1`, "tape x, line 1: the header cannot be read: unexpected end of JSON input", hintAgain},
		{"cut after a line", strings.Join(lines[:3], ""), "tape x, line 3: it ends here without its last line: it was cut", hintAgain},
		{"cut in a line", strings.Join(lines[:3], "") + lines[3][:10], "tape x, line 4: not an entry: unexpected end of JSON input", hintAgain},
		{"a line lost", strings.Join(lines[:3], "") + strings.Join(lines[4:], ""), "tape x, line 8: it had 7 entries when it was written, but has 6 now", hintAgain},
		{"a letter changed", strings.Replace(good, "zpool list:", "zpool LIST:", 1), "tape x, line 9: it is not as it was written: the checksum differs", hintAgain},
		{"more after the end", good + good, "tape x, line 10: something follows its last line", hintAgain},
		{"wrong type", lines[0] + `{"op":3}` + "\n", "tape x, line 2: not an entry: json: cannot unmarshal number into Go struct field Entry.op of type string", hintAgain},
		{"no op", lines[0] + `{}` + "\n", "tape x, line 2: not an entry: it has no op", hintAgain},
	} {
		_, err := Read(strings.NewReader(tt.data), "x")
		var wrong *Error
		if !errors.As(err, &wrong) {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if wrong.Error() != tt.want || wrong.Hint != tt.hint {
			t.Errorf("%s:\n got %s (%s)\nwant %s (%s)", tt.name, wrong, wrong.Hint, tt.want, tt.hint)
		}
	}
}

func TestReadGivesUpOnALineWithoutEnd(t *testing.T) {
	endless := io.MultiReader(strings.NewReader(`{"plumb_tape":1,"about":"`), zeros{})
	if _, err := Read(endless, "x"); err == nil || !strings.Contains(err.Error(), "longer than the limit") {
		t.Errorf("%v", err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

func TestTextKeepsEveryByte(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for _, want := range []string{"", "a", string(all), string(all[:128]), "\ufffd", "a\xffb", `{"base64":"x"}`, strings.Repeat("\x01", 2<<20)} {
		data, err := json.Marshal(Text(want))
		var got Text
		if err == nil {
			err = json.Unmarshal(data, &got)
		}
		if err != nil || string(got) != want || len(data) > 2*len(want)+1024 {
			t.Errorf("%.40q: got %.40q in %d bytes, %v", want, got, len(data), err)
		}
	}
}

func FuzzRead(f *testing.F) {
	good := written(f, sample())
	f.Add(good)
	f.Add(good[:len(good)/2])
	f.Add([]byte(`{"plumb_tape":1}` + "\n" + `{"plumb_tape_end":1,"entries":0,"sha256":""}`))
	f.Add([]byte("\x1f\x8b\x08\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		tape, err := Read(bytes.NewReader(data), "x")
		if err != nil {
			if e := (*Error)(nil); !errors.As(err, &e) || e.Hint == "" {
				t.Errorf("an error without a hint: %v", err)
			}
			return
		}
		again, err := Read(bytes.NewReader(written(t, tape)), "x")
		if err != nil || len(again.Entries) != len(tape.Entries) {
			t.Errorf("written again: %v", err)
		}
	})
}

// FuzzScanEntry holds the quick reading to what encoding/json reads.
func FuzzScanEntry(f *testing.F) {
	for line := range bytes.Lines(written(f, sample())) {
		f.Add(line)
	}
	f.Add([]byte(`{"op":"a","of":["b"],"value":{"a":[1,{"b":"}"}]},"error":"x","says":"\\u00e4\\/"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		quick, ok := scanEntry(line)
		if !ok {
			return
		}
		var slow Entry
		if err := json.Unmarshal(line, &slow); err != nil {
			t.Fatalf("%q: only the quick reading takes it: %v", line, err)
		}
		a, b := dump(&Tape{Entries: []Entry{quick}}), dump(&Tape{Entries: []Entry{slow}})
		if a != b {
			t.Errorf("%q: quick %s, slow %s", line, a, b)
		}
	})
}

func TestScanEntryReadsWhatWriteWrites(t *testing.T) {
	lines := strings.SplitAfter(string(written(t, sample())), "\n")
	for _, line := range lines[1 : len(lines)-2] {
		if _, ok := scanEntry([]byte(line)); !ok && !strings.Contains(line, "base64") {
			t.Errorf("left to encoding/json: %s", line)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add([]byte("a\xff\x00"))
	f.Fuzz(func(t *testing.T, want []byte) {
		data, err := json.Marshal(Text(want))
		if err != nil {
			t.Fatal(err)
		}
		var got Text
		if err := json.Unmarshal(data, &got); err != nil || string(got) != string(want) {
			t.Errorf("%q: %q, %v", want, got, err)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	t := &Tape{About: json.RawMessage(`{}`)}
	for i := range 2000 {
		t.Entries = append(t.Entries, Entry{Op: "file", Of: Texts(fmt.Sprintf("/proc/%d/smaps", i)), Text: text(strings.Repeat("Rss:     128 kB\nPss:\t12 kB\n", 40))})
	}
	data := written(b, t)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := Read(bytes.NewReader(data), "x"); err != nil {
			b.Fatal(err)
		}
	}
}
