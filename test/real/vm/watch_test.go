package vm

import (
	_ "embed" // the script
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"plumb/test/program"
	"plumb/test/sandbox"
)

//go:embed guest/watch_zfs.sh
var watchZFS string

// ofZFS are the verdicts that only a real OpenZFS decides.
var ofZFS = []string{"zfs/throttle-disk", "zfs/throttle-parameter", "zfs/arc-squeezed", "zfs/double-cache", "intruder/scrub"}

// planted is what plumb watch is to say of each: that verdict raised, or none of those of ZFS.
var planted = []struct{ name, want string }{
	{"disk", "zfs/throttle-disk"}, {"parameter", "zfs/throttle-parameter"}, {"neither", ""},
	{"double", "zfs/double-cache"}, {"once", ""},
	{"squeezed", "zfs/arc-squeezed"}, {"roomy", ""},
	{"scrub", "intruder/scrub"}, {"scrubbed", ""},
}

// seen is what the test asks of the document.
type seen struct {
	Verdicts []struct {
		ID  string `json:"id"`
		Say string `json:"say"`
	} `json:"verdicts"`
	Timeline []struct {
		ID string `json:"id"`
	} `json:"timeline"`
	Servers []struct {
		Unknown []struct {
			ID      string          `json:"id"`
			Missing json.RawMessage `json:"missing"`
		} `json:"unknown"`
	} `json:"servers"`
}

// TestWatchOnOpenZFS plants incidents 20 to 24 under a real OpenZFS, each beside its twin. Each is a run that is
// listed, right or wrong.
func TestWatchOnOpenZFS(t *testing.T) {
	for _, release := range Releases() {
		t.Run(release, func(t *testing.T) {
			if release == Bookworm {
				sandbox.NeedFull(t, "the same again with an older OpenZFS: make test-real FULL=1 does it")
			}
			m := Open(t, release)
			plumb := program.ForTest(t)
			out := t.ArtifactDir()
			r, err := m.Run(t.Context(), Script{In: []string{plumb.Path}, Line: wrecksLib + watchZFS, Out: out, Deadline: 60 * time.Minute,
				Disks: []Disk{{Name: "slow", Bytes: 3 << 30, IOPS: 300}, {Name: "fast", Bytes: 3 << 30}}})
			t.Logf("took %v\n%s", r.Took, r.Output)
			if err != nil || r.Code != 0 {
				t.Errorf("code %d, %v", r.Code, err)
			}
			for _, p := range planted {
				t.Run(p.name, func(t *testing.T) { saidOf(t, out, p.name, p.want) })
			}
		})
	}
}

// saidOf compares what plumb said of one with what was planted.
func saidOf(t *testing.T, dir, name, want string) {
	data, err := os.ReadFile(filepath.Join(dir, name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var d seen
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatalf("%v in %.300s", err, data)
	}
	var raised []string
	for _, s := range d.Timeline {
		raised = append(raised, s.ID)
	}
	right := want == "" || slices.Contains(raised, want)
	for _, id := range ofZFS {
		right = right && (id == want || !slices.Contains(raised, id))
	}
	verdict := "RIGHT"
	if !right {
		verdict = "WRONG"
		t.Errorf("raised %q, want %q", raised, want)
	}
	t.Logf("RUN %s %s: want %q, raised %q", verdict, t.Name(), want, raised)
	for _, v := range d.Verdicts {
		t.Logf("%s: %s", v.ID, v.Say)
	}
	for _, s := range d.Servers {
		for _, u := range s.Unknown {
			t.Logf("unknown %s: %s", u.ID, u.Missing)
		}
	}
}
