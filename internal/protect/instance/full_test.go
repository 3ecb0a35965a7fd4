package instance

import (
	"errors"
	"testing"

	"plumb/internal/hint"
)

// TestFull: lines as servers write them.
func TestFull(t *testing.T) {
	for said, want := range map[string]bool{
		"FATAL:  could not write to file \"pg_wal/xlogtemp.7\": No space left on device":                                                          true,
		"[ERROR] mysqld: Disk full (/copy/run/#sql-temptable); waiting for someone to free some space... (errno: 28 \"No space left on device\")": true,
		"[ERROR] InnoDB: Operating system error number 122 in a file operation.":                                                                  true,
		"PANIC:  could not fsync file \"base/5/1249\": Disk quota exceeded":                                                                       true,
		"FATAL:  could not write block 457 in file \"base/5/16397\": wrote only 4096 of 8192 bytes\nHINT:  Check free disk space.":                true,
		"FATAL:  could not extend file \"base/5/16397\": Input/output error\nHINT:  Check free disk space.":                                       false,
		"[ERROR] InnoDB: Database page corruption on disk or a failed read of file '28'":                                                          false,
		"FATAL:  could not open file \"base/5/1249\": Permission denied":                                                                          false,
	} {
		err := full(full(errors.New(said)))
		if errors.Is(err, ErrFull) != want || (hint.Of(err) != "") != want || want && err.Error() != said+" (its storage is full)" {
			t.Errorf("%q: %v, hint %q", said, err, hint.Of(err))
		}
	}
	if full(nil) != nil {
		t.Error("no error became one")
	}
}
