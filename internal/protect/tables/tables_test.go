package tables

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"plumb/internal/host"
)

func TestNames(t *testing.T) {
	for text, want := range map[string]Name{
		"shop.orders": {"shop", "orders"}, "a.b.c": {"a", "b", "c"}, "`a.b`.\"c`\"\"d\"": {"a.b", "c`\"d"}, "ü ñ.-x": {"ü ñ", "-x"},
		"": nil, "a": nil, "a.": nil, ".a": nil, "a..b": nil, "a.b.c.d": nil, "`a.b": nil, "`a`b.c": nil, "``.a": nil, "a.b\x00": nil, "a.{mark}": nil,
	} {
		got, err := Parse(text)
		if !slices.Equal(got, want) || (err != nil) != (want == nil) {
			t.Errorf("%q is %q, %v", text, got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("`a``b`.c")
	f.Fuzz(func(t *testing.T, text string) {
		n, err := Parse(text)
		if err != nil {
			return
		}
		var quoted []string
		for _, part := range n {
			quoted = append(quoted, "`"+strings.ReplaceAll(part, "`", "``")+"`")
		}
		if again, err := Parse(strings.Join(quoted, ".")); err != nil || !slices.Equal(again, n) {
			t.Errorf("%q is %q, and that is %q, %v", text, n, again, err)
		}
	})
}

// typed keeps what is typed to it.
type typed struct {
	host.Held
	all  []string
	fail error
}

func (h *typed) Exec(_ context.Context, statement string) error {
	h.all = append(h.all, statement)
	if h.fail != nil {
		return errors.New("execute " + statement + ": " + h.fail.Error())
	}
	return nil
}

func TestRowsAreTypedWhole(t *testing.T) {
	row := "(" + strings.Repeat("x", batch/3) + ")"
	h := &typed{}
	f := &filler{ctx: t.Context(), h: h, how: Carried{End: '\n', Row: '(', Insert: "INSERT"}, say: func(string) {}}
	text := strings.Repeat(row+"\n", 4)
	for len(text) > 0 { // in pieces that have nothing to do with the rows
		n := min(len(text), 70001)
		if _, err := f.Write([]byte(text[:n])); err != nil {
			t.Fatal(err)
		}
		text = text[n:]
	}
	if err := f.close(); err != nil {
		t.Fatal(err)
	}
	if want := []string{"INSERT " + row + "," + row, "INSERT " + row + "," + row}; !slices.Equal(h.all, want) || f.n != 4 {
		t.Errorf("%d rows in %d statements", f.n, len(h.all))
	}
	for _, bad := range []string{"NULL\n", "\n", "(1)"} {
		f := &filler{ctx: t.Context(), h: h, how: f.how, say: f.say}
		_, err := f.Write([]byte(bad))
		if err == nil {
			err = f.close()
		}
		if err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	h.fail = errors.New("gone")
	f = &filler{ctx: t.Context(), h: h, how: f.how, say: f.say}
	_, _ = f.Write([]byte("(secret)\n"))
	if err := f.close(); err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "gone") {
		t.Errorf("the error is %v", err)
	}
}
