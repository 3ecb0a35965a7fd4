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
		names := map[string]string{"tank/db": name}
		had, err := r.had(t.Context(), names, []string{"vault", name})
		if err == nil {
			err = r.free(t.Context(), chain, names, had)
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || hint.Of(err) == "") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// noting notes what is asked for and done.
type noting struct {
	standing
	asked, ran []string
}

func (n *noting) Output(ctx context.Context, argv ...string) ([]byte, error) {
	n.asked = append(n.asked, strings.Join(argv, " "))
	return n.standing.Output(ctx, argv...)
}

func (n *noting) Run(_ context.Context, argv ...string) ([]byte, error) {
	n.ran = append(n.ran, strings.Join(argv, " "))
	return nil, nil
}

// What a killed restore was changing is judged and taken back by what was read of it once.
func TestWhatIsTakenBackIsReadOnce(t *testing.T) {
	const name = "vault/db"
	n := &noting{standing: standing{moments: name + "@one\t11\n", properties: name + "\tguid\t10\t-\n" + name + "\tmounted\tno\t-\n" + name + "\torg.plumb:moment\treplaying\tlocal\n"}}
	m := manifest.Manifest{Streams: []manifest.Stream{{Name: "tank/db", Kind: manifest.ZFS, GUID: "11"}}}
	r, names := Restore{Do: n}, map[string]string{"tank/db": name, "tank/log": "vault/log"}
	had, err := r.had(t.Context(), names, []string{"vault", name})
	if err == nil {
		err = r.free(t.Context(), []manifest.Manifest{m}, names, had)
	}
	if err == nil {
		err = r.takeBack(t.Context(), m, names, had)
	}
	all := strings.Join(n.asked, "\n")
	if err != nil || strings.Count(all, " all "+name) != 1 || strings.Contains(all, "vault/log") {
		t.Errorf("%v; it asked\n%s", err, all)
	}
	if ran := strings.Join(n.ran, "\n"); !strings.Contains(ran, "rollback") || !strings.Contains(ran, name+"@one") || strings.Contains(ran, "vault/log") {
		t.Errorf("it ran\n%s", ran)
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
