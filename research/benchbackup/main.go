// Command benchbackup measures plumb backup and plumb restore against the tools in use for streams to S3:
// rclone rcat and the AWS command line, bare and behind zstd and age. All send the same stream from standard input to the
// same VersityGW over a line that adds latency, and take turns. It prints medians of the ratios with their range. Run it
// with nothing else on the machine.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"filippo.io/age"

	"plumb/internal/units"
	"plumb/test/sandbox"
)

// rcloneModule is the newest rclone when this was written. Debian's is of 2022.
const rcloneModule = "github.com/rclone/rclone@v1.76.0"

// bench is what all measurements share.
type bench struct {
	plumb, rclone, aws  string // programs; rivals are "" where they are not there
	dir                 string
	size, killSize      int64
	rounds              int
	trips               []time.Duration
	width               float64 // MiB a second; 0: no limit
	box                 *sandbox.Box
	s3                  sandbox.S3
	line                *line
	identity, recipient string
	data                []data
	missed              []string
	failed              []error
}

func main() {
	b := &bench{}
	flag.StringVar(&b.plumb, "plumb", "../plumb", "the plumb binary")
	flag.StringVar(&b.rclone, "rclone", "", "rclone; built from "+rcloneModule+" when not given, none to leave it out")
	flag.StringVar(&b.aws, "aws", "", "the AWS command line; looked for when not given, none to leave it out")
	flag.StringVar(&b.dir, "dir", "/dev/shm", "where the store and the files lie: in memory, so that no disk is measured")
	size := flag.Int64("size", 1024, "MiB of each stream")
	kill := flag.Int64("kill-size", 3072, "MiB of the stream that is killed at half")
	flag.IntVar(&b.rounds, "rounds", 3, "how often each takes its turn")
	trips := flag.String("latency", "0,20,50", "milliseconds of a round trip")
	flag.Float64Var(&b.width, "width", 0, "MiB a second that the line carries to the store; 0: as many as the machine can")
	only := flag.String("only", "rates,memory,restore,killed", "which parts to run")
	flag.Parse()
	b.size, b.killSize = *size<<20, *kill<<20
	err := b.latencies(*trips)
	if err == nil {
		err = b.run(strings.Split(*only, ","))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchbackup:", err)
		os.Exit(1)
	}
}

func (b *bench) latencies(text string) error {
	for word := range strings.SplitSeq(text, ",") {
		ms, err := strconv.Atoi(word)
		if err != nil {
			return fmt.Errorf("-latency %s: %w", text, err)
		}
		b.trips = append(b.trips, time.Duration(ms)*time.Millisecond)
	}
	return nil
}

func (b *bench) run(only []string) (err error) {
	parts := map[string]func() error{"rates": b.rates, "memory": b.memory, "restore": b.restore, "killed": b.killed}
	for _, name := range only {
		if parts[name] == nil {
			return fmt.Errorf("there is no part %q", name)
		}
	}
	if b.box, err = sandbox.New(b.dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.box.Close()) }()
	if err := b.programs(); err != nil {
		return err
	}
	if b.s3, err = b.box.NewS3(); err != nil {
		return err
	}
	if b.line, err = newLine(strings.TrimPrefix(b.s3.Endpoint, "http://")); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.line.close()) }()
	b.line.width = b.width * (1 << 20)
	if err := errors.Join(b.key(), b.makeData()); err != nil {
		return err
	}
	for _, name := range only {
		began := time.Now()
		if err := errors.Join(parts[name](), errors.Join(b.failed...)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Printf("(%s: %s)\n\n", name, units.Span(time.Since(began)))
	}
	if len(b.missed) > 0 {
		fmt.Printf("Missed: %s\n", strings.Join(b.missed, "; "))
	}
	return nil
}

// programs finds the rivals, and says which they are.
func (b *bench) programs() (err error) {
	for _, name := range []string{"zstd", "age"} {
		if _, err := exec.LookPath(name); err != nil {
			return sandbox.Missing{What: name + " is not installed", Hint: "package " + name}
		}
	}
	if b.plumb, err = filepath.Abs(b.plumb); err != nil {
		return err
	}
	switch b.rclone {
	case "none":
		b.rclone = ""
	case "":
		if b.rclone, err = sandbox.GoProgram("rclone", rcloneModule); err != nil {
			return err
		}
	}
	switch b.aws {
	case "none":
		b.aws = ""
	case "":
		b.aws, _ = exec.LookPath("aws")
	}
	if b.rclone == "" && b.aws == "" {
		return sandbox.Missing{What: "there is no rival", Hint: "packages rclone and awscli"}
	}
	load, _ := os.ReadFile("/proc/loadavg") // for the reader only
	fmt.Printf("%d processors, load %s", runtime.NumCPU(), load)
	for _, argv := range [][]string{{b.plumb, "version"}, {b.rclone, "version"}, {b.aws, "--version"}, {"zstd", "--version"}, {"age", "--version"}} {
		if argv[0] != "" {
			out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
			if err != nil {
				return fmt.Errorf("%s: %w: %s", argv[0], err, out)
			}
			first, _, _ := strings.Cut(string(out), "\n")
			fmt.Printf("%s: %s\n", filepath.Base(argv[0]), first)
		}
	}
	return nil
}

func (b *bench) key() error {
	k, err := age.GenerateX25519Identity()
	if err != nil {
		return err
	}
	b.identity, b.recipient = filepath.Join(b.box.Dir, "key.txt"), k.Recipient().String()
	return os.WriteFile(b.identity, []byte(k.String()+"\n"), 0o600)
}

// empty removes what was sent. That a prefix is ours stays, as it does between two backups.
func (b *bench) empty() error {
	at := filepath.Join(b.s3.Dir, b.s3.Bucket)
	return errors.Join(os.RemoveAll(filepath.Join(at, "plumb/backups")), os.RemoveAll(filepath.Join(at, filepath.Dir(object))), os.RemoveAll(filepath.Join(at, ".sgwtmp/multipart")))
}
