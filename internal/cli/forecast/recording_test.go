package forecast

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/cli/shell"
	"plumb/internal/forecast/model"
	"plumb/internal/hint"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/watch/record"
)

// The recordings of these tests are made: what is read of one is asked here, not
// what a host tells.

var morning = time.Date(2026, 7, 1, 6, 0, 0, 0, time.UTC)

// made records batches, each a step after the one before.
func made(t *testing.T, n int, step time.Duration, fill func(i int, b *series.Batch)) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "watch")
	end := morning.Add(time.Duration(n) * step)
	counters := func(_ stack.Ref, name string) bool { return name != "nvme_used" && name != "arc_size" }
	w, err := record.Open(t.Context(), record.Options{Dir: dir, Now: func() time.Time { return end }, Counter: counters})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		b := series.Batch{Source: "made", Every: time.Second, At: morning.Add(time.Duration(i) * step)}
		fill(i, &b)
		w.Batch(b)
		if err := w.CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// says runs a command and gives what it prints.
func says(t *testing.T, run func(s *shell.Shell) error) string {
	t.Helper()
	var out bytes.Buffer
	s := shell.New(strings.NewReader(""), &out, &out)
	if err := run(&s); err != nil && !errors.Is(err, shell.ErrFound) {
		t.Fatal(err)
	}
	return out.String()
}

func TestWearOfARecording(t *testing.T) {
	drive := stack.Ref{Kind: "block", Name: "nvme0n1"}
	dir := made(t, 120, 24*time.Hour, func(i int, b *series.Batch) { b.Set(drive, "nvme_used", math.Floor(3.5+0.1*float64(i))) })
	out := says(t, func(s *shell.Shell) error {
		return runWear(t.Context(), s, wearFlags{recording: recording{dir: dir}})
	})
	// 85 % are left at 0.1 % a day: 850 days after the last reading, 2026-10-28.
	if !strings.Contains(out, "nvme0n1\n  used up  2029-0") {
		t.Errorf("want a day early in 2029:\n%s", out)
	}
}

func TestVolumeOfARecording(t *testing.T) {
	drive := stack.Ref{Kind: "block", Name: "sda"}
	reads := 0.0
	dir := made(t, 900, time.Second, func(i int, b *series.Batch) {
		if i > 300 && i < 400 {
			reads += 2000
		} else {
			reads += 100
		}
		b.Set(drive, "reads", reads)
		b.Set(drive, "read_bytes", reads*16384)
		b.Set(drive, "writes", 0)
		b.Set(drive, "written_bytes", 0)
	})
	f := volumeFlags{recording: recording{dir: dir}, device: "sda", size: 100 << 30}
	l, err := f.recorded(t.Context(), f.named())
	if err != nil {
		t.Fatal(err)
	}
	if l.IOPS.Value != 2000 || math.Abs(l.MiBps.Value-31.25) > 0.01 || math.Abs(l.KiB-16) > 0.01 || len(l.Series) < 890 {
		t.Errorf("%v IOPS, %v MiB/s of %.1f KiB in %d seconds, want 2000, 31.25, 16 and 899", l.IOPS, l.MiBps, l.KiB, len(l.Series))
	}
	// A gp2 of 100 GiB does 300 IOPS, and its credits bear the hundred seconds.
	out := says(t, func(s *shell.Shell) error { return runVolume(t.Context(), s, f) })
	if !strings.Contains(out, "its credits last for the recorded load") || !strings.Contains(out, "aws gp2            10.00 USD") {
		t.Errorf("the credits of a small gp2 are not counted:\n%s", out)
	}
	short := made(t, 300, time.Second, func(i int, b *series.Batch) {
		b.Set(drive, "reads", float64(i))
		b.Set(drive, "writes", 0)
	})
	if _, err := (volumeFlags{recording: recording{dir: short}, device: "sda"}).recorded(t.Context(), f.named()); err == nil || !strings.Contains(err.Error(), "of sda do not show the peak") || hint.Of(err) == "" {
		t.Errorf("five minutes: %v", err)
	}
	if _, err := (wearFlags{recording: recording{dir: short}}).recorded(t.Context()); err == nil || !strings.Contains(err.Error(), "no SSD that reports its wear") || hint.Of(err) == "" {
		t.Errorf("a drive without wear: %v", err)
	}
	f.device = "sdz"
	if err := runVolume(t.Context(), &shell.Shell{}, f); err == nil || !strings.Contains(err.Error(), "no device sdz") {
		t.Errorf("a device that is not recorded: %v", err)
	}
}

// TestVolumeOfAnOldRecording: what is older than two days is recorded each ten or
// sixty seconds, and a sample counts for as long as that. A peak of a hundred minutes
// outlasts the credits of a small gp2, which carry it for 53.
func TestVolumeOfAnOldRecording(t *testing.T) {
	drive := stack.Ref{Kind: "block", Name: "sda"}
	reads := 0.0
	dir := made(t, 260, time.Minute, func(i int, b *series.Batch) {
		if i > 100 && i <= 200 {
			reads += 2000 * 60
		} else {
			reads += 100 * 60
		}
		b.Set(drive, "reads", reads)
		b.Set(drive, "read_bytes", reads*16384)
		b.Set(drive, "writes", 0)
		b.Set(drive, "written_bytes", 0)
	})
	f := volumeFlags{recording: recording{dir: dir}, device: "sda", size: 100 << 30}
	out := says(t, func(s *shell.Shell) error { return runVolume(t.Context(), s, f) })
	if strings.Contains(out, "its credits last for the recorded load") {
		t.Errorf("credits of 53 minutes bear a peak of a hundred:\n%s", out)
	}
	if flat := strings.Join(strings.Fields(out), " "); !strings.Contains(flat, "only means of several seconds up to a minute are recorded") {
		t.Errorf("nothing says that the peaks are means:\n%s", out)
	}
}

func flows(each time.Duration, values ...float64) (all []flow) {
	at := morning
	for _, v := range values {
		at = at.Add(each)
		all = append(all, flow{at, model.Spell{PerSecond: v, For: each}})
	}
	return all
}

// TestPeaksAreOfTime: a sample of a minute counts as sixty of a second, and its
// seconds may have been as much higher as seconds are where both are known.
func TestPeaksAreOfTime(t *testing.T) {
	seconds := make([]float64, 1200)
	for i := range seconds {
		seconds[i] = 100
		if i%30 == 0 {
			seconds[i] = 1000 // minutes have 130
		}
	}
	fine, old := flows(time.Second, seconds...), flows(time.Minute, slices.Repeat([]float64{500}, 20)...)
	if e := peak(slices.Concat(old, fine)); e.Low != 500 || e.Value != 1000 || math.Abs(e.High-500*1000/130) > 40 {
		t.Errorf("%+v, want 500, 1000 and about 3846: half of the time is at 500, a sixtieth at 1000", e)
	}
	if e := peak(fine); e.Value != 1000 || e.High != 1000 {
		t.Errorf("%+v", e)
	}
	for _, c := range []struct {
		all  []flow
		want string
	}{
		{slices.Concat(old, fine), "the peak of seconds is 7.66 times that of minutes"},
		{old, "ask again within two days"},
		{slices.Concat(flows(time.Second, 1, 2), []flow{{morning.Add(time.Hour), model.Spell{PerSecond: 1, For: time.Second}}}), "of 1h within the recording its load is not known"},
	} {
		if got := strings.Join(doubts(c.all), "\n"); !strings.Contains(got, c.want) {
			t.Errorf("%q does not say %q", got, c.want)
		}
	}
	if got := doubts(fine); got != nil {
		t.Errorf("%q", got)
	}
}

func TestGhostsOfARecording(t *testing.T) {
	arc := stack.Ref{Kind: "zfs", Name: "module"}
	dir := made(t, 120, time.Second, func(i int, b *series.Batch) {
		n := float64(i)
		if i >= 60 {
			n -= 60 // the module was loaded anew
		}
		b.Set(arc, "arc_size", 1<<30)
		b.Set(arc, "arc_demand_data_hits", 900*n)
		b.Set(arc, "arc_demand_metadata_hits", 0)
		b.Set(arc, "arc_demand_data_misses", 100*n)
		b.Set(arc, "arc_demand_metadata_misses", 0)
		b.Set(arc, "arc_mru_ghost_hits", 20*n)
		b.Set(arc, "arc_mfu_ghost_hits", 20*n)
	})
	g, err := recording{dir: dir}.ghosts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := 100.0 * 118; g.Misses != want || g.Hits != 0.4*want || g.Reads != 10*want || g.Cache != 1<<30 {
		t.Errorf("%+v, want %g misses, 40 %% of them ghosts, of ten times the reads", g, want)
	}
	out := says(t, func(s *shell.Shell) error {
		return runCache(t.Context(), s, cacheFlags{ghosts: true, recording: recording{dir: dir}, at: []string{"2G", "9G"}})
	})
	if !strings.Contains(out, "misses  6.0 %\n") || !strings.Contains(out, "its ghosts reach to 2G") {
		t.Errorf("twice the ARC misses 6 of 100 reads, and nine times is not known:\n%s", out)
	}
}

// TestPlacesThatAreNotThere: nothing is forecast from a recording, ledger or trace
// that is not there.
func TestPlacesThatAreNotThere(t *testing.T) {
	for _, run := range []func(s *shell.Shell) error{
		func(s *shell.Shell) error {
			return runWear(t.Context(), s, wearFlags{recording: recording{dir: t.TempDir()}})
		},
		func(s *shell.Shell) error {
			return runCache(t.Context(), s, cacheFlags{measured: measured{ledger: filepath.Join(t.TempDir(), "none"), axis: "pool"}, at: []string{"1G"}})
		},
		func(s *shell.Shell) error {
			return runCache(t.Context(), s, cacheFlags{trace: filepath.Join(t.TempDir(), "none"), at: []string{"1G"}})
		},
	} {
		s := shell.New(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})
		if err := run(&s); err == nil || errors.Is(err, shell.ErrFound) {
			t.Errorf("what is not there is read: %v", err)
		}
	}
}

// TestHostileTraces: a trace of one endless line is refused, and one of very many
// blocks is held in bounded memory.
func TestHostileTraces(t *testing.T) {
	name := filepath.Join(t.TempDir(), "trace")
	if err := os.WriteFile(name, bytes.Repeat([]byte("7"), 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := learn(name); err == nil || !strings.Contains(err.Error(), "more than 4096 bytes") {
		t.Errorf("a line of a megabyte is read: %v", err)
	}
	var text bytes.Buffer
	for i := range 200_000 {
		fmt.Fprintf(&text, "%d\n", i)
	}
	if err := os.WriteFile(name, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	trace, err := learn(name)
	if err != nil {
		t.Fatal(err)
	}
	if blocks := trace.Blocks(); blocks < 190_000 || blocks > 210_000 {
		t.Errorf("%.0f different blocks were seen, want about 200000", blocks)
	}
	if r := trace.Predict(1<<30, 16384); r.Refusal == nil && len(r.Warnings) == 0 {
		t.Error("a trace in which nothing is read twice is not doubted")
	}
}

// TestRunsOfOneLevelAreJoined: who measures each level twice is told of their mean, not
// of the first one.
func TestRunsOfOneLevelAreJoined(t *testing.T) {
	got := joined([]point{{4, 90, 0}, {1, 50, 0.2}, {4, 110, 0.01}, {1, 50, 0}})
	if len(got) != 2 || got[0] != (point{4, 100, 0.1}) || got[1] != (point{1, 50, 0.2}) {
		t.Errorf("%v", got)
	}
}

func TestNumbersThatCannotBe(t *testing.T) {
	dir := t.TempDir()
	half := filepath.Join(dir, "half.csv")
	if err := os.WriteFile(half, []byte("threads,rate\n1.5,10\n4,30\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"load --csv x --at 2.5":                                "2.5 is not a number of threads",
		"load --csv x --at 1e9":                                "is not a number of threads",
		"load --csv half --at 4":                               "1.5 is not a number of threads",
		"load --csv x --at 4 --clients -1":                     "--clients -1 is out of range",
		"load --nodes 2 --hot NaN":                             "--hot NaN is not a share of the data",
		"load --nodes 2 --ceiling Inf":                         "--ceiling +Inf is not a rate",
		"load --nodes 2 --one NaN":                             "--one NaN is not a rate",
		"load --over iops --csv two --at 600":                  "the number of concurrent clients",
		"cache --csv x --at 4G --ceiling NaN":                  "--ceiling NaN is not a rate",
		"monitor --hosts 2 --interval 0s":                      "--interval 0s is not an interval",
		"monitor --hosts 2 --days -1":                          "--days -1 is out of range",
		"monitor --hosts 2 --series NaN":                       "--series NaN is not a number",
		"volume --size 1T --iops 300 --instance m6i.8xlrge":    "--instance m6i.8xlrge: its limits are not known",
		"zfs --data 10G --recordsize 16K,3K":                   "--recordsize 3K is not possible in ZFS",
		"zfs --data 10G --recordsize 32M":                      "--recordsize 32M is not possible in ZFS",
		"volume --size 1T --iops NaN":                          "--iops NaN is out of range",
		"volume --size 1T --iops 300 --steady NaN":             "--steady NaN is not a share",
		"volume --size 1T --iops 300 --steady 0.9 --lasts -1h": "--lasts -1h is out of range",
	} {
		fileio := filepath.Join("..", "..", "..", "fixtures", "forecast", "fileio.csv")
		two := filepath.Join("..", "..", "..", "fixtures", "forecast", "volumes.csv")
		line = strings.NewReplacer("--csv x", "--csv "+fileio, "--csv half", "--csv "+half, "--csv two", "--csv "+two).Replace(line)
		var out bytes.Buffer
		s := shell.New(strings.NewReader(""), &out, &out)
		c := Command(&s, nil)
		c.SetArgs(strings.Fields(line))
		c.SilenceErrors, c.SilenceUsage = true, true
		err := c.ExecuteContext(t.Context())
		if err == nil || !strings.Contains(out.String()+err.Error(), want) {
			t.Errorf("%s: %v, %q", line, err, out.String())
		}
	}
}
