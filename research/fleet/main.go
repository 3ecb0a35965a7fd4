// Command fleet measures how many hosts that plumb watches one VictoriaMetrics
// holds: it is given one core and 1 GiB, agents are added step by step, and the
// run ends when the first thing is full.
//
// The agents are simulated: each sends what a real plumb gave at /metrics on one
// host, under a name of its own, with counters that grow and gauges that move.
//
//	plumb watch metrics --once > page.prom
//	go run -C research ./fleet -page page.prom -victoria /usr/bin/victoria-metrics
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"plumb/internal/units"
)

type options struct {
	page, victoria, dir string
	interval, hold      time.Duration
	step, most          int
	memory              int64 // bytes
	cores               float64
	patient             bool
}

func main() {
	var o options
	flag.StringVar(&o.page, "page", "", "what a real plumb gave at /metrics")
	flag.StringVar(&o.victoria, "victoria", "victoria-metrics", "the program")
	flag.StringVar(&o.dir, "dir", "", "where it keeps its data; a temporary directory otherwise")
	flag.DurationVar(&o.interval, "interval", 15*time.Second, "how often an agent sends")
	flag.DurationVar(&o.hold, "hold", 45*time.Second, "how long a step is held; its first interval is not measured")
	flag.IntVar(&o.step, "step", 250, "agents that are added in a step")
	flag.IntVar(&o.most, "most", 20000, "agents at which it ends in any case")
	flag.Int64Var(&o.memory, "memory", 1<<30, "bytes that VictoriaMetrics may have")
	flag.Float64Var(&o.cores, "cores", 1, "processors that it may have")
	flag.BoolVar(&o.patient, "patient", false, "do not end because answers take long: on a machine that others use, memory and processor time can be measured, and time cannot")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	text, err := os.ReadFile(o.page)
	if err != nil {
		return err
	}
	p, err := newTemplate(text)
	if err != nil {
		return fmt.Errorf("read %s: %w", o.page, err)
	}
	e, err := startEngine(ctx, o)
	if err != nil {
		return err
	}
	defer e.stop()
	fmt.Printf("%d series an agent, every %s; %g cores, %d MiB; load of this machine before: %s", len(p.values), units.Short(o.interval), o.cores, o.memory>>20, load())
	fmt.Printf("%8s %10s %8s %8s %8s %10s %9s %9s  %s\n", "agents", "samples/s", "cores", "waited", "MiB", "B/sample", "p99 ms", "query ms", "")
	f := &fleet{template: p, url: e.url, interval: o.interval}
	defer f.stop()
	for n := o.step; n <= o.most && ctx.Err() == nil; n += o.step {
		f.grow(ctx, o.step)
		m := measure(ctx, o, e, f)
		fmt.Printf("%8d %10.0f %8.2f %8.2f %8d %10.2f %9.0f %9.0f  %s\n", n, m.samples, m.cores, m.waited, m.rss>>20, m.bytes, m.p99, m.query, m.full)
		if m.full != "" {
			if strings.HasSuffix(m.full, noMeasurement) {
				return fmt.Errorf("at %d agents: %s", n, m.full)
			}
			fmt.Printf("full at %d agents: %s. That is %d agents a core and GiB at %s.\n", n, m.full, n-o.step, units.Short(o.interval))
			return nil
		}
	}
	return ctx.Err()
}
