package lab

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"plumb/internal/host"
	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
)

// plain is a medium of plain directories, so that the order of trials and
// going on after a stop can be tested without root. Volumes are tested in their
// own package, on the real thing.
type plain struct{ refuse string }

func (plain) Check(context.Context, host.Reader, experiment.Volume) (Need, error) {
	return Need{Disk: 1 << 20, Why: "files"}, nil
}

func (p plain) Make(_ context.Context, b Workspace, name string, v experiment.Volume) (Volume, error) {
	if v.Mount == p.refuse && p.refuse != "" {
		return nil, errors.New("no such option " + v.Mount)
	}
	return directory(filepath.Join(b.Dir, name)), os.Mkdir(filepath.Join(b.Dir, name), 0o755)
}

type directory string

func (d directory) Golden(context.Context, int, int) (string, error) {
	return string(d) + "/golden", os.Mkdir(string(d)+"/golden", 0o755)
}

func (d directory) Clone(context.Context) (string, string, error) {
	return string(d) + "/data", "copy", os.CopyFS(string(d)+"/data", os.DirFS(string(d)+"/golden"))
}
func (d directory) Drop(context.Context) error                                  { return os.RemoveAll(string(d) + "/data") }
func (directory) Apart(context.Context, string, int, int) error                 { return errors.New("no dataset") }
func (directory) Limit(context.Context) ([]experiment.LimitFact, error)         { return nil, nil }
func (directory) Again(context.Context) error                                   { return nil }
func (directory) Unlimit(context.Context) error                                 { return nil }
func (directory) Counters(context.Context) map[string]float64                   { return nil }
func (d directory) Facts(context.Context) (f experiment.VolumeFacts, err error) { return f, nil }
func (d directory) Close(context.Context) error                                 { return os.RemoveAll(string(d)) }

// memory is a ledger that forgets.
type memory struct{ rows []experiment.Record }

func (m *memory) Define(context.Context, experiment.Experiment, string) error { return nil }
func (m *memory) Begin(_ context.Context, r experiment.Record) error {
	r.Mark(experiment.MarkCut, "not ended")
	m.rows = append(m.rows, r)
	return nil
}

func (m *memory) Finish(_ context.Context, r experiment.Record) error {
	i := slices.IndexFunc(m.rows, func(o experiment.Record) bool { return o.ID == r.ID })
	m.rows[i] = r
	return nil
}
func (m *memory) Records(context.Context, string) ([]experiment.Record, error) {
	return slices.Clone(m.rows), nil
}
func (m *memory) Put(context.Context, []byte) (string, error) { return "", nil }
func (m *memory) Lock(context.Context, string) (func() error, error) {
	return func() error { return nil }, nil
}

const fileTrials = `experiment: files
question: Do larger requests write less often?
base:
  volume: {kind: directory}
  load: {kind: fileio, mode: rndwr, files: 1, total: 1M}
arms:
  - {name: small, set: {load.block: 4K}}
  - {name: large, set: {load.block: 64K}}
  - {name: larger, set: {load.block: 256K}}
blocks: {least: 2, most: 2}
measure: {warmup: 0s, time: 1s, unsteady: true}
`

func newTestLab(t *testing.T, m VolumeMaker, ledger Ledger) *Lab {
	t.Helper()
	doer := host.NewLiveDoer(host.NewLive(host.LiveOptions{}))
	t.Cleanup(func() { doer.Close() })
	return &Lab{Box: Workspace{Dir: t.TempDir(), Run: "test", Do: doer}, Medium: m, Ledger: ledger}
}

func parsed(t *testing.T, text string) experiment.Experiment {
	t.Helper()
	x, err := experiment.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// What was cut off is done again, what ended is not, and no trial is missing.
func TestResume(t *testing.T) {
	x, ledger := parsed(t, fileTrials), &memory{}
	l := newTestLab(t, plain{}, ledger)
	ctx, cancel := context.WithCancel(t.Context())
	l.Watch = func(p Progress) {
		if p.Number == 4 && p.Doing == "measuring" {
			cancel()
		}
	}
	if _, err := l.Run(ctx, x); !errors.Is(err, context.Canceled) {
		t.Fatalf("cancelled: %v", err)
	}
	if len(ledger.rows) != 4 || !ledger.rows[3].Has(experiment.MarkCut) {
		t.Fatalf("%d rows when cancelled in the fourth trial", len(ledger.rows))
	}
	l.Watch = nil
	r, err := l.Run(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	var got []experiment.Trial
	for _, row := range ledger.rows {
		if row.Valid() {
			got = append(got, row.Trial)
		} else if !row.Has(experiment.MarkCut) {
			t.Errorf("marked: %v", row.Marks)
		}
	}
	if want := experiment.All(x); !slices.Equal(got, want) {
		t.Errorf("trials %v\nwant %v", got, want)
	}
	if r.Done != 2 || !r.Complete || r.Stopped != report.AllDone {
		t.Errorf("report: %d blocks, %v, %s", r.Done, r.Complete, r.Stopped)
	}
}

// An arm whose volume cannot be made is marked, and the other goes on.
func TestArmThatCannotBeSetUp(t *testing.T) {
	x, ledger := parsed(t, fileTrials), &memory{}
	x.Arms[1].Setup.Volume.Mount = "nonsense"
	r, err := newTestLab(t, plain{refuse: "nonsense"}, ledger).Run(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	valid, failed := 0, 0
	for _, row := range ledger.rows {
		if row.Valid() {
			valid++
		} else if row.Has(experiment.MarkFailed) {
			failed++
			t.Log(row.Marks)
		}
	}
	if valid != 4 || failed != 1 {
		t.Errorf("%d valid, %d failed trials", valid, failed)
	}
	if len(r.Arms) != 3 || r.Arms[1].Failed == "" {
		t.Errorf("the report does not say why the arm failed: %+v", r.Arms)
	}
}
