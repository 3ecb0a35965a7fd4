package main

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"plumb/internal/units"
)

// The goals of memory, in MiB resident, of what is sent again after half was, and of restoring.
const (
	goalResident = 320
	goalLow      = 96
	goalAgain    = 0.55
	goalParallel = 3.0
	goalBusy     = 0.9
)

// memory sends with and without --low, over the longest line.
func (b *bench) memory() error {
	b.line.trip.Store(int64(slices.Max(b.trips)))
	for _, c := range []struct {
		name string
		more []string
		goal int64
	}{{"plumb backup", nil, goalResident}, {"plumb backup --low", []string{"--low"}, goalLow}} {
		var most int64
		for _, d := range b.data {
			t, err := pipeline(nil, nil, b.login(""), b.plumbBackup(d.file, c.more...))
			if err := errors.Join(err, b.empty()); err != nil {
				return err
			}
			most = max(most, t.resident>>20)
		}
		note := "reached"
		if most > c.goal || most == 0 {
			note = "MISSED"
			b.missed = append(b.missed, fmt.Sprintf("%s: %d MiB resident, asked %d", c.name, most, c.goal))
		}
		fmt.Printf("%s: %d MiB resident at most  %s (asked %d)\n", c.name, most, note, c.goal)
	}
	return nil
}

// restore reads a stream back over the longest line: with several objects on their way, and with one; and what rivals
// read of a bare object.
func (b *bench) restore() error {
	trip := slices.Max(b.trips)
	for _, d := range b.data {
		b.line.trip.Store(0)
		arms := b.arms()
		for _, a := range arms[:2] { // ours, and a bare object
			if _, err := pipeline(nil, nil, a.env, a.make(d.file)...); err != nil {
				return err
			}
		}
		b.line.trip.Store(int64(trip))
		if err := errors.Join(b.back(d, trip), b.empty()); err != nil {
			return err
		}
	}
	return nil
}

// reader is one way to read a stream back.
type reader struct {
	name string
	argv []string
}

func (b *bench) back(d data, trip time.Duration) error {
	ways := []reader{{"plumb restore", b.plumbRestore()}, {"plumb restore --parallel 1", b.plumbRestore("--parallel", "1")}}
	if b.rclone != "" {
		ways = append(ways, reader{"rclone cat, bare", []string{b.rclone, "--config", "/dev/null", "cat", "s3:" + b.s3.Bucket + "/" + object}})
	}
	if b.aws != "" {
		ways = append(ways, reader{"aws s3 cp, bare", []string{b.aws, "--endpoint-url", b.endpoint(), "s3", "cp", "s3://" + b.s3.Bucket + "/" + object, "-"}})
	}
	want, err := sum(d.file)
	if err != nil {
		return err
	}
	rate, busy := make([][]float64, len(ways)), make([][]float64, len(ways))
	for round := range b.rounds {
		for k := range ways {
			i := (round + k) % len(ways)
			t, err := b.readBack(ways[i], want)
			if err != nil {
				return err
			}
			rate[i], busy[i] = append(rate[i], float64(b.size)/(1<<20)/t.wall.Seconds()), append(busy[i], t.busy)
		}
	}
	fmt.Printf("Restore of %s, %d MiB, round trip %s\n", d.name, b.size>>20, units.Short(trip))
	for i, w := range ways {
		fmt.Printf("  %-34s %7.1f MiB/s (%.1f to %.1f)  processors busy %3.0f %%\n", w.name, median(rate[i]), slices.Min(rate[i]), slices.Max(rate[i]), 100*median(busy[i]))
	}
	var one []float64
	for round := range b.rounds {
		one = append(one, rate[0][round]/rate[1][round])
	}
	bound := median(busy[0]) >= goalBusy
	b.judge("plumb restore to one object at a time, "+d.name, one, !bound, goalParallel)
	if bound {
		fmt.Printf("  the processors bound it: %.0f %% busy\n", 100*median(busy[0]))
	}
	return nil
}

// readBack reads a stream back into a file, and compares it afterwards: comparing is not measured.
func (b *bench) readBack(w reader, want []byte) (t took, err error) {
	f, err := os.CreateTemp(b.box.Dir, "back-")
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	if t, err = pipeline(nil, f, b.login(""), w.argv); err != nil {
		return t, err
	}
	got, err := sum(f.Name())
	if err == nil && !bytes.Equal(got, want) {
		err = fmt.Errorf("%s gives another stream", w.name)
	}
	return t, err
}

func sum(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	_, err = io.Copy(h, f)
	return h.Sum(nil), errors.Join(err, f.Close())
}

// killed kills backups when half of what whole ones send was sent, and counts what the next one sends. What was on its way is sent again:
// six objects of 16 MiB, or three of 4. So the smaller the stream, the larger the share.
func (b *bench) killed() error {
	b.line.trip.Store(int64(20 * time.Millisecond))
	large := data{"incompressible", filepath.Join(b.box.Dir, "large")}
	if err := fill(large.file, rand.Reader, b.killSize); err != nil {
		return err
	}
	defer os.Remove(large.file)
	for _, more := range [][]string{nil, {"--low"}} {
		again, err := b.killedOnce(b.plumbBackup(large.file, more...))
		if err := errors.Join(err, b.empty()); err != nil {
			return err
		}
		note := "reached"
		if again > goalAgain {
			note = "MISSED"
			b.missed = append(b.missed, fmt.Sprintf("killed at half %v: %.3f of the stream sent again, asked %.2f", more, again, goalAgain))
		}
		fmt.Printf("Killed at half %v, %d MiB: the second run sends %.3f of the stream  %s (asked %.2f at most)\n", more, b.killSize>>20, again, note, goalAgain)
	}
	return nil
}

func (b *bench) killedOnce(argv []string) (again float64, err error) {
	before := b.line.up.Load()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), b.login("")...)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for b.line.up.Load()-before < b.killSize/2 {
		select {
		case err := <-ended:
			return 0, fmt.Errorf("it ended before half was sent: %w", err)
		case <-time.After(time.Millisecond):
		}
	}
	_ = cmd.Process.Kill()
	<-ended
	before = b.line.up.Load()
	_, err = pipeline(nil, nil, b.login(""), argv)
	return float64(b.line.up.Load()-before) / float64(b.killSize), err
}
