package observe

import (
	"testing"

	"plumb/internal/catalog"
	"plumb/internal/stack"
)

func TestValueIn(t *testing.T) {
	for _, c := range []struct {
		of   catalog.Type
		text string
		want stack.Value // absent: refused
	}{
		{catalog.Text, "none [mq-deadline] kyber bfq\n", stack.Text("mq-deadline")},
		{catalog.Text, "[none] mq-deadline", stack.Text("none")},
		{catalog.Text, "none", stack.Text("none")},
		{catalog.Text, "write back\n", stack.Text("write back")},
		{catalog.Text, "always defer defer+madvise [madvise] never", stack.Text("madvise")},
		{catalog.Text, "[]", stack.Value{}},
		{catalog.Text, "[always", stack.Value{}},
		{catalog.Text, "\n", stack.Value{}},
		{catalog.Int, "-1\n", stack.Int(-1)},
		{catalog.Bytes, "4096\n", stack.Int(4096)},
		{catalog.Int, "many", stack.Value{}},
		{catalog.Bool, "Y\n", stack.Bool(true)},
		{catalog.Bool, "0", stack.Bool(false)},
	} {
		got, err := ValueIn(&catalog.Fact{Type: c.of}, []byte(c.text))
		if !got.Equal(c.want) || (err != nil) != c.want.IsAbsent() {
			t.Errorf("%q as %s: %v, %v; want %v", c.text, c.of, got, err, c.want)
		}
	}
}

func FuzzValueIn(f *testing.F) {
	f.Add("none [mq-deadline] kyber", "text")
	f.Add("4096", "bytes")
	f.Fuzz(func(t *testing.T, text, of string) {
		fact := &catalog.Fact{Type: catalog.Type(of)}
		if v, err := ValueIn(fact, []byte(text)); err == nil && !fact.Type.Fits(v) {
			t.Errorf("%q as %s gives %v", text, of, v)
		}
	})
}
