package backup

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"plumb/internal/backup/manifest"
	"plumb/internal/hint"
	"plumb/internal/host"
)

// standing is a host that has one dataset.
type standing struct {
	host.Streamer
	moments, properties string
}

func (s standing) Output(_ context.Context, argv ...string) ([]byte, error) {
	if strings.Contains(strings.Join(argv, " "), "-d 1 ") {
		return []byte(s.moments), nil
	}
	return []byte(s.properties), nil
}

// A restore goes on with what an earlier run of it left, and with nothing else: the dataset that was backed up has the same snapshots.
func TestRestoreOverWhatIsThere(t *testing.T) {
	of := func(guid string) manifest.Manifest {
		return manifest.Manifest{Streams: []manifest.Stream{{Name: "tank/db", Kind: manifest.ZFS, GUID: guid}}}
	}
	chain := []manifest.Manifest{of("11"), of("12")}
	const (
		name          = "vault/db"
		first, second = "vault/db@one\t11\n", "vault/db@two\t12\n"
		other         = "vault/db@other\t13\n"
		bookmark      = "vault/db#mark\t14\n"
		guid          = "vault/db\tguid\t10\t-\n"
		used, unused  = "vault/db\tmounted\tyes\t-\n", "vault/db\tmounted\tno\t-\n"
	)
	for what, c := range map[string]struct {
		moments, properties string
		want                string
	}{
		"the first of the chain":        {first, guid + unused, ""},
		"all of the chain":              {first + second + bookmark, guid + unused, ""},
		"of zfs-fuse, which mounts":     {first, used, ""},
		"a volume":                      {first, guid, ""},
		"nothing":                       {bookmark, guid + unused, "has nothing of this backup"},
		"the live one, with a snapshot": {first + second + other, guid + unused, "it has vault/db@other"},
		"the live one":                  {first + second, guid + used, "is mounted"},
	} {
		r := Restore{Do: standing{moments: c.moments, properties: c.properties}}
		err := r.free(t.Context(), chain, map[string]string{"tank/db": name}, []string{"vault", name})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || hint.Of(err) == "") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestRestoresAlone: the locks of what is restored to keep out a second restore, and do not pile up: each proof restores to a dataset of its own.
func TestRestoresAlone(t *testing.T) {
	r := Restore{Do: host.NewLiveDoer(host.NewLive(host.LiveOptions{})), Books: t.TempDir()}
	unlock, err := r.alone(t.Context(), map[string]string{"tank/db": "vault/db", "tank/log": "vault/log"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.alone(t.Context(), map[string]string{"tank/a": "vault/a", "tank/log": "vault/log"}); !errors.Is(err, host.ErrLocked) || !strings.Contains(err.Error(), "another Plumb is restoring") {
		t.Errorf("beside the first: %v", err)
	}
	unlock()
	if left, err := os.ReadDir(r.Books); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	again, err := r.alone(t.Context(), map[string]string{"tank/log": "vault/log"})
	if err != nil {
		t.Fatal(err)
	}
	again()
}
