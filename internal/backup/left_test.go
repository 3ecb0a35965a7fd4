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
	moments, properties, born string
}

func (s standing) Output(_ context.Context, argv ...string) ([]byte, error) {
	switch line := strings.Join(argv, " "); {
	case strings.Contains(line, "-d 1 "):
		return []byte(s.moments), nil
	case strings.Contains(line, "createtxg tank/was@two"):
		return []byte(s.born + "\n"), nil
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
		name          = "tank/was"
		first, second = "tank/was@one\t11\n", "tank/was@two\t12\n"
		other         = "tank/was@other\t13\n"
		bookmark      = "tank/was#mark\t14\n"
		guid          = "tank/was\tguid\t10\t-\n"
		used, unused  = "tank/was\tmounted\tyes\t-\n", "tank/was\tmounted\tno\t-\n"
		same, written = "tank/was\twritten\t0\t-\n", "tank/was\twritten\t57344\t-\n"
		begun         = "tank/was\torg.plumb:moment\treplaying\tlocal\n"
	)
	for what, c := range map[string]struct {
		moments, properties string
		born                string // in which transaction group the second was made
		want                string
	}{
		"the first of the chain":         {first, guid + unused, "", ""},
		"all of the chain":               {first + second + bookmark, guid + unused + same, "812", ""},
		"of zfs-fuse, which mounts":      {first + second, used, "812", ""},
		"a volume":                       {first, guid, "", ""},
		"what a killed one was changing": {first + second, guid + used + written + begun, "812", ""},
		"nothing":                        {bookmark, guid + unused, "", "has nothing of this backup"},
		"one that was in use":            {first + second, guid + unused + written, "812", "was written to since"},
		"the live one, with a snapshot":  {first + second + other, guid + unused, "4711", "it has tank/was@other"},
		"the live one":                   {first + second, guid + used + same, "4711", "has the very snapshot that was backed up"},
		"the live one, unmounted":        {first + second, guid + unused + same, "4711", "has the very snapshot that was backed up"},
		"the live one of zfs-fuse":       {first + second, unused, "4711", "has the very snapshot that was backed up"},
		"the live one, as if begun":      {first + second, unused + begun, "4711", "has the very snapshot that was backed up"},
		"a mounted one":                  {first + second, guid + used + same, "812", "is mounted"},
	} {
		r := Restore{Do: standing{moments: c.moments, properties: c.properties, born: c.born}}
		names := map[string]string{"tank/db": name}
		had, err := r.had(t.Context(), names, []string{"tank", "vault", name})
		if err == nil {
			err = r.free(t.Context(), chain, names, had, map[string]string{"tank/db": "4711"})
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
		err = r.free(t.Context(), []manifest.Manifest{m}, names, had, nil)
	}
	if err == nil {
		err = r.takeBack(t.Context(), []manifest.Manifest{m}, names, had)
	}
	all := strings.Join(n.asked, "\n")
	if err != nil || strings.Count(all, " all "+name) != 1 || strings.Contains(all, "vault/log") {
		t.Errorf("%v; it asked\n%s", err, all)
	}
	if ran := strings.Join(n.ran, "\n"); !strings.Contains(ran, "rollback") || !strings.Contains(ran, name+"@one") || strings.Contains(ran, "vault/log") {
		t.Errorf("it ran\n%s", ran)
	}
}

// What a killed restore was changing, and has lost the snapshot to take it back to, is left to a person, who is told what to do.
func TestNothingToTakeItBackTo(t *testing.T) {
	r := Restore{Do: standing{moments: "tank/was@one\t11\n", properties: "tank/was\torg.plumb:moment\treplaying\tlocal\n"}}
	chain := []manifest.Manifest{{Streams: []manifest.Stream{{Name: "tank/db", Kind: manifest.ZFS, GUID: "12"}}}}
	had, err := r.had(t.Context(), map[string]string{"tank/db": "tank/was"}, []string{"tank", "tank/was"})
	if err != nil {
		t.Fatal(err)
	}
	err = r.takeBack(t.Context(), chain, map[string]string{"tank/db": "tank/was"}, had)
	if err == nil || !strings.Contains(err.Error(), "has no snapshot of this backup") || !strings.Contains(hint.Of(err), "zfs destroy -r tank/was") {
		t.Errorf("%v, hint %q", err, hint.Of(err))
	}
}

// Who restores a dataset that is encrypted is told to load its key.
func TestMountedWithoutItsKey(t *testing.T) {
	failed := errors.New("cannot mount 'tank/was'")
	for status, want := range map[string]string{"unavailable\n": "zfs load-key tank/was", "available\n": "", "-\n": ""} {
		err := Restore{Do: standing{properties: status}}.locked(t.Context(), "tank/was", failed)
		if !errors.Is(err, failed) || !strings.HasPrefix(hint.Of(err), want) || want == "" && hint.Of(err) != "" {
			t.Errorf("%q: %v, hint %q", status, err, hint.Of(err))
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
