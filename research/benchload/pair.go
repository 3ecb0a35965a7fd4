package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumb/internal/stats"
)

// sample is one run of one tool.
type sample struct {
	rate float64       // operations a second
	cpu  time.Duration // user and system time of the tool, for each operation
}

// output runs a command and gives what it printed, the CPU time it used and
// how long it took.
func output(dir string, argv ...string) (text string, cpu, wall time.Duration, err error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return "", 0, 0, fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, out.String())
	}
	p := cmd.ProcessState
	return out.String(), p.UserTime() + p.SystemTime(), time.Since(start), nil
}

// number finds the first group of a pattern in a text.
func number(text, pattern string) (float64, error) {
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("no %s in:\n%s", pattern, text)
	}
	return strconv.ParseFloat(m[1], 64)
}

// goal is what a comparison has to reach: at least a ratio of rates, at most
// a ratio of CPU time for each operation (0: none).
type goal struct{ rate, cpu float64 }

// compare runs two tools in turn and prints the ratios, ours to theirs.
func (b *bench) compare(what string, g goal, ours, theirs func() (sample, error)) error {
	var rates, cpus, a, z []float64
	for i := range b.pairs {
		order := []func() (sample, error){ours, theirs}
		got := [2]sample{}
		for k := range 2 {
			j := (i + k) % 2 // who is first changes from pair to pair
			s, err := order[j]()
			if err != nil {
				return err
			}
			got[j] = s
		}
		rates = append(rates, got[0].rate/got[1].rate)
		cpus = append(cpus, got[0].cpu.Seconds()/got[1].cpu.Seconds())
		a, z = append(a, got[0].rate), append(z, got[1].rate)
	}
	note := b.judge(what, g, median(rates), median(cpus))
	fmt.Printf("%-34s %9.0f/s against %9.0f/s   rate %s   CPU an operation %s  %s\n", what, median(a), median(z), spread(rates), spread(cpus), note)
	return nil
}

func (b *bench) judge(what string, g goal, rate, cpu float64) string {
	var asked, missed []string
	if g.rate > 0 {
		asked = append(asked, fmt.Sprintf("rate at least %.2f", g.rate))
		if rate < g.rate {
			missed = append(missed, fmt.Sprintf("%s: rate %.2f, asked %.2f", what, rate, g.rate))
		}
	}
	if g.cpu > 0 {
		asked = append(asked, fmt.Sprintf("CPU at most %.2f", g.cpu))
		if cpu > g.cpu {
			missed = append(missed, fmt.Sprintf("%s: CPU %.2f, asked %.2f", what, cpu, g.cpu))
		}
	}
	b.missed = append(b.missed, missed...)
	if len(asked) == 0 {
		return ""
	}
	word := "reached"
	if len(missed) > 0 {
		word = "MISSED"
	}
	return word + " (" + strings.Join(asked, ", ") + ")"
}

func median(all []float64) float64 { return stats.Quantile(slices.Sorted(slices.Values(all)), 0.5) }

func spread(all []float64) string {
	return fmt.Sprintf("%.2f (%.2f to %.2f)", median(all), slices.Min(all), slices.Max(all))
}
