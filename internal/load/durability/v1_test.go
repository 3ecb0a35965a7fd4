package durability

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"plumb/internal/hint"
)

// The ledger in testdata/v1 is of a run of 2026-11-23 (3baf977), of which all 104
// rows were in the table.
func TestReadsWhatEarlierPlumbsWrote(t *testing.T) {
	n, err := Read("testdata/v1/run.ledger")
	ok(t, err)
	if n.Acknowledged() != 104 || n.Damaged != 0 || n.Torn != 0 || n.Header.Seed != 352491911 || n.Header.Workload != "oltp_write_only" {
		t.Errorf("%+v, %d acknowledged", n.Header, n.Acknowledged())
	}
	all := make([]int64, 104)
	for i := range all {
		all[i] = int64(i)
	}
	v, err := n.verify(t.Context(), table{rows: all, limit: 1000})
	if err != nil || v.Lost != 0 || v.Extra != 0 {
		t.Errorf("%+v, %v", v, err)
	}
}

// A ledger of a newer form is refused as it is.
func TestNewerFormStaysAsItIs(t *testing.T) {
	text, err := os.ReadFile("testdata/v1/run.ledger")
	ok(t, err)
	text[len(magic)] = '2'
	file := filepath.Join(t.TempDir(), "later.ledger")
	ok(t, os.WriteFile(file, append(text, "torn"...), 0o600))
	before, err := os.ReadFile(file)
	ok(t, err)
	if _, err := Read(file); err == nil || errors.Is(err, errNoBook) || hint.Of(err) == "" {
		t.Errorf("got %v, hint %q", err, hint.Of(err))
	}
	if after, err := os.ReadFile(file); err != nil || !bytes.Equal(before, after) {
		t.Errorf("what was refused has changed: %v", err)
	}
	text[len(magic)] = 'x'
	if _, err := parseHeader(text); !errors.Is(err, errNoBook) {
		t.Errorf("got %v", err)
	}
}
