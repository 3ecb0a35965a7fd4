package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// fileio compares with fio: 16K random reads and writes, O_DIRECT, pread and
// pwrite, each job a thread, one file of 1 GiB.
func (b *bench) fileio() error {
	if err := need("fio", "fio"); err != nil {
		return err
	}
	dir, err := b.box.Mkdir("fileio")
	if err != nil {
		return err
	}
	options := []string{"--dir=" + dir, "--file-num=1", "--file-total-size=1G", "--file-block-size=16384"}
	if _, _, _, err := output("", append([]string{b.plumb, "load", "fileio", "prepare"}, options...)...); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.0"))
	if err != nil || len(files) != 1 {
		return fmt.Errorf("expected one test file in %s, found %v (%v)", dir, files, err)
	}
	fmt.Printf("\nfio psync, direct, 16K, 1 GiB, %d pairs of %d s\n", b.pairs, b.seconds)
	for _, mode := range [][2]string{{"rndrd", "randread"}, {"rndwr", "randwrite"}} {
		for _, threads := range []int{1, 4, 16, 64} {
			argv := append([]string{b.plumb, "load", "fileio", "run", "--file-test-mode=" + mode[0], "--file-extra-flags=direct",
				"--file-fsync-freq=0", "--file-fsync-end=off", "--threads=" + strconv.Itoa(threads), "--time=" + strconv.Itoa(b.seconds), "--json"}, options...)
			fio := []string{"fio", "--name=b", "--filename=" + files[0], "--ioengine=psync", "--direct=1", "--bs=16k", "--size=1g", "--thread",
				"--rw=" + mode[1], "--numjobs=" + strconv.Itoa(threads), "--runtime=" + strconv.Itoa(b.seconds), "--time_based",
				"--group_reporting", "--output-format=json", "--norandommap", "--randrepeat=0"}
			err := b.compare(fmt.Sprintf("%s, %d threads", mode[0], threads), goal{rate: 0.98, cpu: 1},
				func() (sample, error) { return plumbIO(argv) }, func() (sample, error) { return fioRate(fio) })
			if err != nil {
				return err
			}
		}
	}
	return os.RemoveAll(dir)
}

func plumbIO(argv []string) (sample, error) {
	text, cpu, _, err := output("", argv...)
	if err != nil {
		return sample{}, err
	}
	var res struct {
		Rate  struct{ Value float64 }
		Total struct{ Done int64 }
	}
	if err := json.Unmarshal([]byte(text), &res); err != nil {
		return sample{}, fmt.Errorf("plumb's JSON: %w", err)
	}
	return sample{res.Rate.Value, cpu / time.Duration(max(res.Total.Done, 1))}, nil
}

func fioRate(argv []string) (sample, error) {
	text, cpu, _, err := output("", argv...)
	if err != nil {
		return sample{}, err
	}
	var res struct {
		Jobs []struct {
			Read, Write struct {
				IOPS     float64
				TotalIOs int64 `json:"total_ios"`
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &res); err != nil || len(res.Jobs) != 1 {
		return sample{}, fmt.Errorf("fio's JSON has %d jobs: %w", len(res.Jobs), err)
	}
	r, w := res.Jobs[0].Read, res.Jobs[0].Write
	return sample{r.IOPS + w.IOPS, cpu / time.Duration(max(r.TotalIOs+w.TotalIOs, 1))}, nil
}
