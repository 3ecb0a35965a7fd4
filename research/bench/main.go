// Command bench measures plumb check against the tools in use, on this
// machine, in one run: MariaDB with 1,000 tables and PostgreSQL, started
// privately, commands in pairs, medians and ratios. Run it with nothing else
// on the machine.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumb/internal/tape"
	"plumb/test/sandbox"
)

const (
	tables = 1000
	pairs  = 7
	tapes  = 1000
)

func main() {
	plumb := flag.String("plumb", "../plumb", "the plumb binary")
	flag.Parse()
	if err := run(*plumb); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(plumb string) (err error) {
	b, err := sandbox.New("")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	my, err := servers(b)
	if err != nil {
		return err
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		fmt.Printf("%d CPUs, load %s", runtime.NumCPU(), load)
	}
	peers, missing := peerTools(my.Socket)
	for _, m := range missing {
		fmt.Println("without", m+": not installed")
	}
	if err := checkAgainst(plumb, peers); err != nil {
		return err
	}
	if err := startUp(plumb); err != nil {
		return err
	}
	tape := filepath.Join(b.Dir, "host.tape")
	if err := exec.Command(plumb, "capture", "-o", tape).Run(); err != nil {
		return fmt.Errorf("capture: %w", err)
	}
	if err := countQueries(tape); err != nil {
		return err
	}
	return replay(plumb, tape, b.Dir)
}

func servers(b *sandbox.Box) (*sandbox.Server, error) {
	my, err := b.MySQL(sandbox.MySQLOptions{Port: 33306, Settings: "innodb_buffer_pool_size=256M"})
	if err != nil {
		return nil, err
	}
	create := []string{"CREATE DATABASE many"}
	for i := range tables {
		create = append(create, fmt.Sprintf("CREATE TABLE many.t%d (id INT PRIMARY KEY, a INT, KEY (a))", i))
	}
	if err := my.Exec(create...); err != nil {
		return nil, err
	}
	_, err = b.Postgres(sandbox.PostgresOptions{Port: 54432})
	return my, err
}

// peerTools gives the commands that are run one after another as the peer.
func peerTools(socket string) (found [][]string, missing []string) {
	for _, argv := range [][]string{
		// --nosysstat keeps it from asking the internet for its own address.
		{"mysqltuner", "--socket", socket, "--user", "root", "--nosysstat", "--nocolor"},
		{"pt-summary", "--sleep", "0"},
		{"pt-mysql-summary", "--sleep", "0", "--socket", socket, "--user", "root"},
		{"pt-variable-advisor", "S=" + socket + ",u=root"},
	} {
		if _, err := exec.LookPath(argv[0]); err != nil {
			missing = append(missing, argv[0])
			continue
		}
		found = append(found, argv)
	}
	return found, missing
}

// measure runs a command and gives its wall time and its own peak memory.
func measure(argv []string) (time.Duration, int64, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Stdin = strings.NewReader("\n\n\n") // mysqltuner may ask for a password
	start := time.Now()
	err := cmd.Start()
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w", argv[0], err)
	}
	ended := make(chan struct{})
	peak := make(chan int64, 1)
	go func() { peak <- peakOf(cmd.Process.Pid, ended) }()
	err = cmd.Wait()
	wall := time.Since(start)
	close(ended)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, 0, fmt.Errorf("%s: %w", argv[0], err)
	}
	if exit != nil && exit.ExitCode() > 1 {
		return 0, 0, fmt.Errorf("%s: %w: %s", argv[0], err, tail(out.String()))
	}
	return wall, <-peak, nil
}

// peakOf watches the most memory a process has had, in bytes. What wait(2)
// tells would be the largest of the process and of the commands it ran.
func peakOf(pid int, ended <-chan struct{}) (peak int64) {
	for {
		select {
		case <-ended:
			return peak
		case <-time.After(5 * time.Millisecond):
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(status)) {
			if f := strings.Fields(line); len(f) == 3 && f[0] == "VmHWM:" {
				kib, _ := strconv.ParseInt(f[1], 10, 64)
				peak = max(peak, kib<<10)
			}
		}
	}
}

func tail(s string) string { return s[max(0, len(s)-500):] }

// sample is a list of wall times.
type sample []time.Duration

func (s sample) median() time.Duration {
	sorted := slices.Sorted(slices.Values(s))
	return sorted[len(sorted)/2]
}

func (s sample) String() string {
	return fmt.Sprintf("median %.3f s (%.3f to %.3f)", s.median().Seconds(), slices.Min(s).Seconds(), slices.Max(s).Seconds())
}

// checkAgainst runs plumb check and the peers in turn.
func checkAgainst(plumb string, peers [][]string) error {
	var ours, theirs sample
	var ratios []float64
	var peak int64
	each := make([]sample, len(peers))
	for i := range pairs + 1 {
		mine, memory, err := measure([]string{plumb, "check"})
		if err != nil {
			return err
		}
		var sum time.Duration
		for j, argv := range peers {
			wall, _, err := measure(argv)
			if err != nil {
				return err
			}
			sum += wall
			each[j] = append(each[j], wall)
		}
		if i == 0 { // the first pair warms the caches
			continue
		}
		ours, theirs, peak = append(ours, mine), append(theirs, sum), max(peak, memory)
		ratios = append(ratios, mine.Seconds()/sum.Seconds())
	}
	fmt.Printf("plumb check           %v, %d pairs\n", ours, pairs)
	for j, argv := range peers {
		fmt.Printf("  %-20s%v\n", argv[0], each[j])
	}
	fmt.Printf("the peers together    %v\n", theirs)
	slices.Sort(ratios)
	fmt.Printf("plumb / peers         median %.2f (%.2f to %.2f); to reach: at most 0.50\n", ratios[len(ratios)/2], ratios[0], ratios[len(ratios)-1])
	fmt.Printf("peak memory of check  %d MB; to reach: under 80 MB\n", peak/1e6)
	return nil
}

func startUp(plumb string) error {
	var s sample
	for range 21 {
		wall, _, err := measure([]string{plumb, "explain", "cross/zfs-recordsize-innodb"})
		if err != nil {
			return err
		}
		s = append(s, wall)
	}
	fmt.Printf("plumb explain x       %v; to reach: under 0.050 s\n", s)
	return nil
}

// countQueries counts what one check asked each server, from its tape.
func countQueries(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	t, err := tape.Read(f, name)
	if err != nil {
		return err
	}
	asked := map[string]int{}
	for _, e := range t.Entries {
		if e.Op == "query" {
			asked[string(e.Of[0])]++
		}
	}
	for _, server := range slices.Sorted(maps.Keys(asked)) {
		fmt.Printf("queries %3d             to %s; to reach: at most 40\n", asked[server], server)
	}
	return nil
}

// replay checks a directory of many tapes.
func replay(plumb, tape, dir string) error {
	text, err := os.ReadFile(tape)
	if err != nil {
		return err
	}
	many := filepath.Join(dir, "tapes")
	if err := os.Mkdir(many, 0o755); err != nil {
		return err
	}
	for i := range tapes {
		if err := os.WriteFile(filepath.Join(many, fmt.Sprintf("host%04d.tape", i)), text, 0o644); err != nil {
			return err
		}
	}
	wall, memory, err := measure([]string{plumb, "check", "--tape", many})
	if err != nil {
		return err
	}
	fmt.Printf("replaying %d tapes   %.1f s for %d MB of tape, %d MB of memory; to reach: under 60 s\n",
		tapes, wall.Seconds(), tapes*len(text)/1e6, memory/1e6)
	return nil
}
