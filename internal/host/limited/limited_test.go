package limited

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func TestBuffer(t *testing.T) {
	full := errors.New("full")
	b := NewBuffer(5, full)
	for _, part := range []struct {
		text string
		want error
	}{{"abc", nil}, {"de", nil}, {"", nil}, {"f", full}} {
		if _, err := b.Write([]byte(part.text)); err != part.want {
			t.Errorf("%q: %v", part.text, err)
		}
	}
	if b.String() != "abcde" || string(b.Bytes()) != "abcde" {
		t.Errorf("kept %q", b)
	}
	b = NewBuffer(5, full)
	if _, err := io.Copy(b, io.LimitReader(strings.NewReader("too long"), 8)); err != full {
		t.Errorf("a copy: %v", err)
	}
	if _, err := b.Write([]byte("a")); err == nil || b.String() != "" {
		t.Errorf("after what did not fit: %v, %q", err, b)
	}
}
