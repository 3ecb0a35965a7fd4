// Command benchload measures plumb load against the load generators in use,
// on this machine, in one run: sysbench on a private MariaDB, pgbench on a
// private PostgreSQL, sysbench-tpcc's prepare on both, fio on a file. Runs go
// in pairs, the two in turn; it prints medians of the ratios with their
// range. Run it with nothing else on the machine.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"plumb/test/sandbox"
)

// bench is what all measurements share.
type bench struct {
	plumb   string
	seconds int    // of each run
	pairs   int    // of each comparison
	loads   int    // pairs of loading
	tpcc    string // directory of sysbench-tpcc's scripts
	box     *sandbox.Box
	missed  []string
}

func main() {
	b := &bench{}
	flag.StringVar(&b.plumb, "plumb", "../plumb", "the plumb binary")
	flag.IntVar(&b.seconds, "seconds", 8, "length of each run")
	flag.IntVar(&b.pairs, "pairs", 5, "pairs of each comparison")
	flag.IntVar(&b.loads, "loads", 3, "pairs of each comparison of loading")
	flag.StringVar(&b.tpcc, "sysbench-tpcc", "", "directory with sysbench-tpcc's scripts (GPL, not part of Plumb); fetched with git when not given")
	only := flag.String("only", "mysql,postgres,tpcc,fileio", "which parts to run")
	flag.Parse()
	if err := b.run(strings.Split(*only, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "benchload:", err)
		os.Exit(1)
	}
}

func (b *bench) run(only []string) (err error) {
	if b.box, err = sandbox.New(""); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.box.Close()) }()
	load, _ := os.ReadFile("/proc/loadavg") // for the reader only
	fmt.Printf("%d CPUs, load %s", runtime.NumCPU(), load)
	parts := map[string]func() error{"mysql": b.mysql, "postgres": b.postgres, "tpcc": b.tpccLoad, "fileio": b.fileio}
	for _, name := range only {
		part, ok := parts[name]
		if !ok {
			return fmt.Errorf("there is no part %q", name)
		}
		if err := part(); err != nil {
			var missing sandbox.Missing
			if !errors.As(err, &missing) {
				return fmt.Errorf("%s: %w", name, err)
			}
			fmt.Printf("%s: skipped: %s\n", name, missing)
		}
	}
	if len(b.missed) > 0 {
		fmt.Printf("\nMissed: %s\n", strings.Join(b.missed, "; "))
	}
	return nil
}

// need gives an error that skips a part.
func need(program, pkg string) error {
	if _, err := exec.LookPath(program); err != nil {
		return sandbox.Missing{What: program + " is not installed", Hint: "package " + pkg}
	}
	return nil
}
