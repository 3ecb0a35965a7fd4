package mongo

import (
	"testing"

	"plumb/internal/host"
)

func TestLastWrite(t *testing.T) {
	for text, want := range map[string]string{
		`{"ok": 1}`: "",
		`{"lastWrite": {"opTime": {"ts": {"$timestamp": {"t": 1764000000, "i": 17}}, "t": 3}}}`: "1764000000:17",
		`{"lastWrite": {"opTime": {"ts": 5}}}`:                                                  "",
	} {
		got, err := LastWrite(host.Rows{Columns: []string{"document"}, Values: [][]*string{{&text}}})
		if got != want || err != nil {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
	if _, err := LastWrite(host.Rows{}); err == nil {
		t.Error("no answer is one")
	}
}
