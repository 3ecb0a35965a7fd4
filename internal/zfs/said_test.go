package zfs

import (
	"errors"
	"testing"
)

func TestMissing(t *testing.T) {
	for said, want := range map[string]bool{
		"cannot open 'tank/db': dataset does not exist":                 true,
		"could not find any snapshots to destroy; check snapshot names": false,
		"cannot open 'tank/db': permission denied":                      false,
	} {
		if Missing(errors.New("run zfs list: exit status 1: "+said)) != want {
			t.Errorf("%s: missing: %v", said, !want)
		}
	}
	if Missing(nil) {
		t.Error("what went well is missing")
	}
}
