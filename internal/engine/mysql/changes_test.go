package mysql

import (
	"testing"

	"plumb/internal/stack"
)

// TestChangesCountStatements: a load of new data adds rows and changes none.
// A server that leaves one of the counters out tells nothing.
func TestChangesCountStatements(t *testing.T) {
	l := &look{t: stack.NewThing("mysql", "3306"), status: map[string]string{
		"com_insert": "100", "com_insert_select": "2", "com_replace": "3", "com_replace_select": "0", "com_load": "1",
		"com_update": "7", "com_update_multi": "1", "com_delete": "2",
	}}
	l.changes()
	if n, ok := l.t.Int("inserts"); !ok || n != 106 {
		t.Errorf("inserts %d, %v", n, ok)
	}
	if _, ok := l.t.Int("updates"); ok {
		t.Error("updates are told without com_delete_multi")
	}
	l.status["com_delete_multi"] = "0"
	l.changes()
	if n, ok := l.t.Int("updates"); !ok || n != 10 {
		t.Errorf("updates %d, %v", n, ok)
	}
}

// Before MySQL 5.5 InnoDB's monitor prints log sequence numbers in two halves.
func TestSequenceNumbersInTwoHalves(t *testing.T) {
	m := parseInnoDBStatus([]byte("Log sequence number 4 1234567890\nLast checkpoint at  4 1234560000\nHistory list length 12\n"))
	if m.lsn != 4<<32+1234567890 || m.checkpoint != 4<<32+1234560000 || m.history != 12 {
		t.Errorf("read %+v", m)
	}
	for _, bad := range []string{"", "x", "1 x", "1 2 3", "9999999999 1", "1 9999999999"} {
		if n, ok := sequenceNumber(bad); ok {
			t.Errorf("%q gives %d", bad, n)
		}
	}
}
