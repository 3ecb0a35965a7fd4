package self

import (
	"os"
	"testing"
)

func TestUnread(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if Unread(w) || Unread(null) {
		t.Error("a pipe with a reader, or /dev/null, is taken for unread")
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if !Unread(w) {
		t.Error("a pipe without a reader is not seen")
	}
}
