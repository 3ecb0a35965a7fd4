// Command watchcost measures what it costs to watch one MariaDB once a second:
// plumb watch metrics beside node_exporter with mysqld_exporter, in turns on the
// same server under the same steady load, each scraped once a second. A third
// turn watches nothing, so that what the server spends on the load is known.
//
//	make && unshare --pid --fork --mount-proc go run -C research ./watchcost -plumb $PWD/plumb
//
// With -loss 0.8 it measures what the load loses instead, at that share of what the server can do.
//
// unshare is for machines on which other servers run: Plumb would watch them too.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"plumb/internal/stats"
	"plumb/internal/units"
	"plumb/test/sandbox"
)

type options struct {
	plumb        string
	rounds       int
	warm, length time.Duration
	rate         int
	loss         float64
}

func main() {
	var o options
	flag.StringVar(&o.plumb, "plumb", "plumb", "the program")
	flag.IntVar(&o.rounds, "rounds", 4, "how often each takes its turn")
	flag.DurationVar(&o.warm, "warm", 20*time.Second, "time of a turn before it is measured: Plumb looks at the host as a whole then")
	flag.DurationVar(&o.length, "length", 30*time.Second, "time that is measured in each turn")
	flag.IntVar(&o.rate, "rate", 200, "transactions a second of the load")
	flag.Float64Var(&o.loss, "loss", 0, "measure the loss in throughput at this share of what the server can do; 1 is all it can do")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "watchcost:", err)
		os.Exit(1)
	}
}

// contender is one way to watch the server.
type contender struct {
	name  string
	start func() (*watchers, error)
	own   []float64 // ms of its own processors a second, by turn
	in    []float64 // of the server, the load's share included
	anon  []float64 // MiB
	rss   []float64
	size  []float64 // series
}

func run(o options) error {
	bin, err := sandbox.Monitoring()
	if err != nil {
		return err
	}
	box, err := sandbox.New("")
	if err != nil {
		return err
	}
	defer box.Close()
	server, err := box.MySQL(sandbox.MySQLOptions{Settings: "innodb_buffer_pool_size=64M\n"})
	if err != nil {
		return err
	}
	if err := fill(server); err != nil {
		return err
	}
	if o.loss > 0 {
		return measureLoss(o, server)
	}
	load, err := startLoad(server, o.rate)
	if err != nil {
		return err
	}
	defer load.stop()
	dsn := server.User + "@unix(" + server.Socket + ")/"
	all := []*contender{
		{name: "nothing", start: func() (*watchers, error) { return &watchers{}, nil }},
		{name: "plumb", start: func() (*watchers, error) { return startPlumb(o, server) }},
		{name: "exporters", start: func() (*watchers, error) {
			w, err := start("9932", []string{bin + "/prometheus-node-exporter", "--web.listen-address=127.0.0.1:9932"}, nil)
			if err != nil {
				return nil, err
			}
			more, err := start("9933", []string{bin + "/prometheus-mysqld-exporter", "--web.listen-address=127.0.0.1:9933"}, []string{"DATA_SOURCE_NAME=" + dsn})
			if err != nil {
				w.stop()
				return nil, err
			}
			w.join(more)
			return w, nil
		}},
	}
	loadavg, _ := os.ReadFile("/proc/loadavg")
	fmt.Printf("%d turns of %s each, %d transactions a second; load of this machine before: %s", o.rounds, units.Short(o.length), o.rate, loadavg)
	for round := range o.rounds {
		turn := slices.Clone(all)
		if round%2 == 1 {
			slices.Reverse(turn)
		}
		for _, c := range turn {
			if err := c.turn(o, server.PID); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	show(all)
	return load.failed()
}

func startPlumb(o options, server *sandbox.Server) (*watchers, error) {
	return start("9931", []string{o.plumb, "watch", "metrics", "--listen", "127.0.0.1:9931", "--dsn", "mysql://" + server.User + "@/?socket=" + server.Socket}, nil)
}

// turn watches for a while and measures.
func (c *contender) turn(o options, server int) error {
	w, err := c.start()
	if err != nil {
		return err
	}
	defer w.stop()
	if err := w.scrapeFor(o.warm); err != nil {
		return err
	}
	own, in, began := w.cpu(), cpuOf(server), time.Now()
	if err := w.scrapeFor(o.length); err != nil {
		return err
	}
	seconds := time.Since(began).Seconds()
	anon, rss := w.memory()
	c.own, c.in = append(c.own, 1e3*(w.cpu()-own)/seconds), append(c.in, 1e3*(cpuOf(server)-in)/seconds)
	c.anon, c.rss, c.size = append(c.anon, anon), append(c.rss, rss), append(c.size, float64(w.series))
	return nil
}

// show prints medians with their range, and the ratio that matters.
func show(all []*contender) {
	idle := median(all[0].in)
	fmt.Printf("%-10s %24s %24s %18s %18s %8s\n", "", "own ms/s", "in the server ms/s", "anonymous MiB", "resident MiB", "series")
	total := map[string]float64{}
	for _, c := range all[1:] {
		var in []float64
		for i, v := range c.in { // of the turn without a watcher in the same round
			in = append(in, v-all[0].in[i])
		}
		total[c.name] = median(c.own) + max(0, median(in))
		fmt.Printf("%-10s %24s %24s %18s %18s %8.0f\n", c.name, spread(c.own), spread(in), spread(c.anon), spread(c.rss), median(c.size))
	}
	fmt.Printf("the server alone: %.1f ms/s\n", idle)
	fmt.Printf("own processor time, plumb to exporters: %.2f; with the server's: %.2f (goal 0.50)\n", median(all[1].own)/median(all[2].own), total["plumb"]/total["exporters"])
}

func median(v []float64) float64 { return stats.Quantile(slices.Sorted(slices.Values(v)), 0.5) }

func spread(v []float64) string {
	return strings.TrimSpace(fmt.Sprintf("%.1f (%.1f–%.1f)", median(v), slices.Min(v), slices.Max(v)))
}
