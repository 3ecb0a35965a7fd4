package freeze

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"strconv"
	"strings"
	"time"

	"plumb/internal/host"
	"plumb/internal/protect/heir"
)

// step is a step back. Both we and the one who waits for our end can take it.
type step struct{ verb, what, where string }

// Verbs of steps.
const (
	goOn      = "cont"  // what: process
	write     = "write" // what: text, where: file
	moveOut   = "move"  // what: control group, where: to which its processes go
	dropGroup = "drop"  // what: control group
)

func (s step) back(ctx context.Context, d host.Doer) error {
	switch s.verb {
	case goOn:
		_, err := d.Run(ctx, "sh", "-c", `kill -s CONT -- "$1" || ! kill -s 0 -- "$1"`, "sh", s.what)
		return err
	case write:
		return d.Write(ctx, s.where, []byte(s.what))
	case moveOut:
		text, err := d.ReadFile(ctx, path.Join(s.what, "cgroup.procs"))
		for _, pid := range strings.Fields(string(text)) {
			_ = d.Write(ctx, path.Join(s.where, "cgroup.procs"), []byte(pid)) // it may have ended; what is left keeps the group
		}
		return err
	}
	_, err := d.Run(ctx, "rmdir", "--", s.what)
	return err
}

// takesOver is the dead man's switch: it reads steps back until its input ends or the time is up, and then
// takes them, the last first. timeout ends with the input too. Whom it is told to stop meanwhile it stops itself, and makes the group
// that it is told to: a command of ours for that could outlive us, and come after the step back.
const takesOver = `echo armed
timeout -s KILL "$1" cat | {
	steps=
	while IFS='	' read -r verb what where; do
		case $verb in
		stop) kill -s STOP -- "$what" ;;
		make) mkdir -- "$what" ;;
		*) steps="$verb	$what	$where
$steps" ;;
		esac
	done
	printf '%s' "$steps" | while IFS='	' read -r verb what where; do
		case $verb in
		cont) kill -s CONT -- "$what" ;;
		write) printf '%s' "$what" >"$where" ;;
		move) while read -r pid; do echo "$pid" >"$where/cgroup.procs"; done <"$what/cgroup.procs" ;;
		drop) rmdir -- "$what" ;;
		esac
	done
}
exit 0
`

// arm starts the dead man's switch and waits until it is ready.
func (f *frozen) arm(ctx context.Context, limit time.Duration) (err error) {
	seconds := strconv.Itoa(int(math.Ceil(max(limit.Seconds(), 1))))
	f.man, err = heir.Start(ctx, f.d, takesOver, []string{seconds}, nil, limit)
	return err
}

// will tells the dead man's switch how to take a step back, and only then does it.
func (f *frozen) will(s step, do func() error) error {
	if err := f.tell(s.verb, s.what, s.where); err != nil {
		return err
	}
	f.steps = append(f.steps, s)
	return do()
}

// tell passes a line on to the dead man's switch.
func (f *frozen) tell(words ...string) error {
	line := strings.Join(words, "\t")
	if strings.Count(line, "\t") >= len(words) || strings.Contains(line, "\n") {
		return fmt.Errorf("the name of a control group cannot be passed on: %q", line)
	}
	if _, err := io.WriteString(f.man, line+"\n"); err != nil {
		return errors.New("the process that lets it continue has ended")
	}
	return nil
}
