package record

import (
	"bytes"
	"compress/gzip"
	"errors"
	"strings"
	"testing"

	"plumb/internal/hint"
)

// TestLinesThatAreNone: each is an error that says what is wrong, and where.
func TestLinesThatAreNone(t *testing.T) {
	const first = `{"plumb_recording":2,"host":"db1"}` + "\n"
	pack := func(text string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write([]byte(text)) // into memory
		_ = z.Close()
		return b.String()
	}
	whole := pack(first + strings.Repeat(`{"lost":{"since":"2026-11-25T03:00:00Z","until":"2026-11-25T03:01:00Z","why":"x"}}`+"\n", 50))
	for name, c := range map[string]struct{ text, want string }{
		"nothing":           {"", "not a part of a recording"},
		"another document":  {"{\"servers\":[]}\n", "not a part of a recording"},
		"a line cut off":    {first + `{"lost":{"since`, "line 2: unexpected end"},
		"a line of nothing": {first + "{}\n", "line 2: it holds neither"},
		"no time":           {first + `{"batch":{"source":"block","every":1000000000}}` + "\n", "line 2: it holds a batch without its time"},
		"a null thing":      {first + `{"at":"2026-11-25T03:00:00Z","picture":{"things":[null]}}` + "\n", "line 2: it is damaged: a thing in it is null"},
		"a packed nothing":  {pack(""), "not a part of a recording"},
		"a packed head":     {"\x1f\x8b", "decompress it"},
		"packed, cut off":   {whole[:len(whole)-12], "line "},
		"a newer form":      {`{"plumb_recording":99}` + "\n", "it has format 99"},
	} {
		err := ReadLines(strings.NewReader(c.text), func(Item) error { return nil })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if errors.Is(err, ErrNewer) && hint.Of(err) == "" || strings.HasSuffix(name, "cut off") != (hint.Of(err) == cutOff) {
			t.Errorf("%s: the hint is %q", name, hint.Of(err))
		}
	}
	n := 0
	if err := ReadLines(strings.NewReader(whole), func(Item) error { n++; return nil }); err != nil || n != 50 {
		t.Errorf("packed: %d items, %v", n, err)
	}
}
