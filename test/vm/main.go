// Command vm boots Debian with a real OpenZFS, MariaDB and PostgreSQL in QEMU,
// and gives a shell or runs a line in it.
//
//	go run ./test/vm -shell                      a shell as root; exit ends the machine
//	go run ./test/vm -in ./plumb -out got -run '/in/plumb check --json >/out/check.json'
//	go run ./test/vm -release trixie -build      only make sure that the image is there
//
// Its exit code is that of the line, 125 when the line did not end. See
// test/real/vm/README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"plumb/test/real/vm"
)

// Exit codes of our own; bash uses 126 and more, and a line most others.
const (
	exitUsage = 2
	exitOurs  = 125
)

// asked is what the command line says.
type asked struct {
	release   string
	build     bool
	shell     bool
	script    vm.Script
	disk      vm.Disk
	megabytes int64
	memoryMB  int
	cpus      int
}

func main() {
	a, err := parse(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(0)
	case err != nil:
		fmt.Fprintln(os.Stderr, "vm:", err)
		os.Exit(exitUsage)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code, err := a.do(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "vm:", err)
	}
	os.Exit(code)
}

// parse reads the command line.
func parse(args []string, usage io.Writer) (asked, error) {
	a := asked{disk: vm.Disk{Name: "data"}}
	f := flag.NewFlagSet("vm", flag.ContinueOnError)
	f.SetOutput(usage)
	f.StringVar(&a.release, "release", vm.Trixie, "Debian's release: "+strings.Join(vm.Releases(), " or "))
	f.BoolVar(&a.build, "build", false, "only build the image, when it is not there, and say what is on it")
	f.BoolVar(&a.shell, "shell", false, "give a shell")
	f.StringVar(&a.script.Line, "run", "", "run a `line` of bash and end with its exit code")
	f.Func("in", "take a `file` or directory along, as /in/NAME; may be repeated", func(name string) error {
		a.script.In = append(a.script.In, name)
		return nil
	})
	f.StringVar(&a.script.Out, "out", "", "bring what is left in /out to this new or empty `directory`")
	f.DurationVar(&a.script.Deadline, "deadline", 0, "end the run after this time (10m; a shell has none)")
	f.Int64Var(&a.megabytes, "disk", 4096, "size of the second disk in `MB`; it takes only the room of what is written")
	f.IntVar(&a.disk.IOPS, "iops", 0, "limit of the second disk, reads and writes a second")
	f.StringVar(&a.disk.File, "keep", "", "keep the second disk in this `file`, and use it again when it is there")
	f.StringVar(&a.disk.Log, "log", "", "log the second disk's writes and flushes to this `file`")
	f.BoolVar(&a.script.Systemd, "systemd", false, "boot with systemd and its services, MariaDB among them")
	f.IntVar(&a.memoryMB, "memory", 3072, "memory in `MB`")
	f.IntVar(&a.cpus, "cpus", 2, "processors")
	if err := f.Parse(args); err != nil {
		return a, err
	}
	if f.NArg() > 0 {
		return a, fmt.Errorf("%q is no flag: a line to run is one argument of -run", f.Arg(0))
	}
	a.disk.Bytes = a.megabytes << 20
	a.script.Disks = []vm.Disk{a.disk}
	ways := 0
	for _, way := range []bool{a.build, a.shell, a.script.Line != ""} {
		if way {
			ways++
		}
	}
	if ways != 1 {
		return a, errors.New("give one of -shell, -run LINE and -build")
	}
	return a, nil
}

func (a asked) do(ctx context.Context) (code int, err error) {
	m, err := vm.New(ctx, a.release, func(text string) { fmt.Fprintln(os.Stderr, "vm:", text) })
	if err != nil {
		return exitOurs, err
	}
	m.MemoryMB, m.CPUs = a.memoryMB, a.cpus
	switch {
	case a.build:
		fmt.Printf("%s\n%s", m.Dir, m.About())
		return 0, nil
	case a.shell:
		if err := a.interact(ctx, m); err != nil {
			return exitOurs, err
		}
		return 0, nil
	}
	a.script.Live = os.Stdout
	r, err := m.Run(ctx, a.script)
	if err != nil {
		return exitOurs, err
	}
	fmt.Fprintf(os.Stderr, "vm: the line ended with %d, %s after the start; the machine took %s to boot\n",
		r.Code, r.Took.Round(100*time.Millisecond), r.Boot.Round(100*time.Millisecond))
	return r.Code, nil
}

// interact gives a shell, and the terminal back as it was.
func (a asked) interact(ctx context.Context, m *vm.Machine) error {
	if a.script.Deadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, a.script.Deadline)
		defer cancel()
	}
	if fd := int(os.Stdin.Fd()); term.IsTerminal(fd) {
		state, err := term.GetState(fd)
		if err != nil {
			return fmt.Errorf("read the terminal's settings: %w", err)
		}
		defer term.Restore(fd, state)
	}
	return m.Shell(ctx, a.script, os.Stdin, os.Stdout, os.Stderr)
}
