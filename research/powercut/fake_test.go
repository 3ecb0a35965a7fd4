package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// toy is a hypervisor without a machine. Its server keeps commit n in sector n
// of the disk and acknowledges it after a flush; a liar does without.
type toy struct {
	liar    bool
	serving int // how often it served
}

const toySectors = 4000

func (f *toy) Run(ctx context.Context, g guest) (int, []byte, error) {
	lines := strings.Split(strings.TrimSpace(g.line), "\n")
	switch what := lines[len(lines)-1]; what {
	case "prepare":
		return 0, nil, os.WriteFile(g.disks[0].file, make([]byte, toySectors*512), 0o600)
	case "serve":
		f.serving++
		return -1, []byte("serving"), f.serve(ctx, g)
	case "verify":
		return 0, nil, f.verify(g, lines)
	default:
		return 1, []byte("cannot " + what), nil
	}
}

// entry makes an entry of a log, with a sector that holds a number.
func entry(sector, sectors, flags, number uint64) []byte {
	b := make([]byte, 512, 1024)
	for i, n := range []uint64{sector, sectors, flags} {
		binary.LittleEndian.PutUint64(b[8*i:], n)
	}
	if sectors > 0 {
		b = append(b, content(number)...)
	}
	return b
}

func content(number uint64) []byte {
	return bytes.Repeat(binary.LittleEndian.AppendUint64(nil, number), 512/8)
}

func (f *toy) serve(ctx context.Context, g guest) error {
	book := make([]byte, bookHeader)
	data, err := os.OpenFile(g.disks[0].file, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer data.Close()
	log := []byte{}
	if g.disks[0].log != "" {
		log = make([]byte, 512)
		for i, n := range []uint64{0x6a736677736872, 1, 0, 512} {
			binary.LittleEndian.PutUint64(log[8*i:], n)
		}
	}
	for n := uint64(1); n < toySectors && ctx.Err() == nil; n++ {
		log = append(log, entry(n, 1, 0, n)...)
		if !f.liar {
			log = append(log, entry(0, 0, 1, 0)...)
		} else if f.liar && n%50 == 0 {
			log = append(log, entry(0, 0, 1, 0)...)
		}
		if _, err := data.WriteAt(content(n), int64(n)*512); err != nil {
			return err
		}
		if g.disks[0].log != "" {
			if err := os.WriteFile(g.disks[0].log, log, 0o600); err != nil {
				return err
			}
		}
		book = append(book, make([]byte, bookRecord)...)
		if err := os.WriteFile(g.disks[1].file, book, 0o600); err != nil {
			return err
		}
		fmt.Fprintf(g.live, "noise\nack %d\n", n)
		time.Sleep(time.Millisecond)
	}
	<-ctx.Done()
	return ctx.Err()
}

func (f *toy) verify(g guest, lines []string) error {
	var records int64
	for _, line := range lines {
		if text, found := strings.CutPrefix(line, "RECORDS='"); found {
			records, _ = strconv.ParseInt(strings.TrimSuffix(text, "'"), 10, 64)
		}
	}
	if records == 0 {
		st, err := os.Stat(g.disks[1].file)
		if err != nil {
			return err
		}
		records = (st.Size() - bookHeader) / bookRecord
	}
	image, err := os.ReadFile(g.disks[0].file)
	if err != nil {
		return err
	}
	lost := 0
	for n := range records {
		if !bytes.Equal(image[(n+1)*512:(n+2)*512], content(uint64(n+1))) {
			lost++
		}
	}
	verdict := fmt.Sprintf(`{"kind":"load-verify","acknowledged":%d,"lost":%d,"extra":0}`, records, lost)
	return errors.Join(os.WriteFile(filepath.Join(g.out, "verify.json"), []byte(verdict), 0o600),
		os.WriteFile(filepath.Join(g.out, "report"), []byte("mounted yes\nstarted yes\nverify 0\ncheck tables ok\ndone yes\n"), 0o600))
}

func toyBench(t *testing.T, machine hypervisor) *bench {
	t.Helper()
	return &bench{machine: machine, images: t.TempDir(), dir: t.TempDir(), seed: 7, drive: 300 * time.Millisecond, cuts: 5, driveHere: 300 * time.Millisecond, longestHere: 100 * time.Millisecond,
		shortest: 50 * time.Millisecond, longest: 100 * time.Millisecond, say: t.Logf}
}

// Trials go from the base over the load and the cut to the verdict; a server
// that keeps its word loses nothing however it is cut.
func TestTrialsOfAnHonestServer(t *testing.T) {
	for _, k := range kinds() {
		all := toyTrials(t, &toy{}, k)
		s := sum(all)
		if s.lost != 0 || s.failed != 0 || s.inconsistent != 0 || s.acknowledged == 0 {
			t.Errorf("%s: %+v", k, s)
		}
	}
}

// One that acknowledges before it flushes is caught by a replay, and not by a kill.
func TestTrialsOfALiar(t *testing.T) {
	if s := sum(toyTrials(t, &toy{liar: true}, replayed)); s.lost == 0 {
		t.Errorf("the loss was not seen: %+v", s)
	}
	if s := sum(toyTrials(t, &toy{liar: true}, killed)); s.lost != 0 {
		t.Errorf("a kill keeps what was complete: %+v", s)
	}
}

func toyTrials(t *testing.T, machine *toy, k kind) (all []trial) {
	t.Helper()
	b := toyBench(t, machine)
	for number := range 4 {
		ok(t, b.session(t.Context(), rows()[0], k, number, 5, func(r trial) error {
			all = append(all, r)
			return nil
		}))
	}
	want := 4
	if k == replayed {
		want = 20
	}
	if len(all) != want || machine.serving != 4 {
		t.Fatalf("%s: %d trials of %d sessions", k, len(all), machine.serving)
	}
	for _, dir := range []string{"session-*", "out-*", "prepare-*"} {
		if left, _ := filepath.Glob(filepath.Join(b.dir, dir)); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
	return all
}

// broken ends by itself.
type broken struct{ code int }

func (f broken) Run(context.Context, guest) (int, []byte, error) {
	return f.code, []byte("powercut: fail open zfs\n"), nil
}

// What could not be carried out is kept, says why and is not counted.
func TestTrialThatFails(t *testing.T) {
	b := toyBench(t, broken{1})
	var kept []trial
	err := b.session(t.Context(), rows()[0], killed, 0, 1, func(r trial) error {
		kept = append(kept, r)
		return nil
	})
	if err == nil || len(kept) != 1 || !strings.Contains(kept[0].Error, "fail open zfs") {
		t.Errorf("%v, %+v", err, kept)
	}
	if n := len(counted(kept, rows()[0], killed)); n != 0 {
		t.Errorf("%d trials are counted", n)
	}
	if next(kept, rows()[0], killed) != 1 || voids(kept, rows()[0], killed) != 1 {
		t.Error("the failed one is forgotten")
	}
}
