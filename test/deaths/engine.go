package deaths

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plumb/internal/host"
	"plumb/internal/load"
	"plumb/internal/protect"
	"plumb/internal/protect/replay"
	"plumb/internal/protect/tables"
	"plumb/internal/stack"
)

// Kind is that of the servers of these tests.
const Kind = "standin"

// Engine makes copies whose server is a process that only runs, and whose tables are files. See sqlMachine.
type Engine struct{ Server protect.Server }

var (
	_ protect.Engine = Engine{}
	_ tables.Engine  = Engine{}
	_ replay.Engine  = Engine{}
)

// Kind implements protect.Engine.
func (Engine) Kind() string { return Kind }

// Describe implements protect.Engine.
func (e Engine) Describe(context.Context, host.Reader, *stack.Stack, stack.Ref) (protect.Server, host.Target, error) {
	return e.Server, e.target(), nil
}

func (e Engine) target() host.Target {
	return host.Target{Engine: Kind, Name: Kind, Network: "unix", Address: e.Server.Dir("data")}
}

// Aside implements protect.Engine.
func (Engine) Aside(*stack.Stack, protect.Server, string) bool { return false }

// Modes implements protect.Engine.
func (Engine) Modes(context.Context, host.Reader, host.Target, *stack.Stack, protect.Server, protect.Set) ([]protect.Mode, error) {
	return []protect.Mode{{Name: protect.ModeLocked}}, nil
}

// Position implements protect.Engine.
func (Engine) Position(context.Context, host.Reader, host.Target) (protect.Position, error) {
	return protect.Position{Offset: 1}, nil
}

// Quiesce implements protect.Engine.
func (Engine) Quiesce(ctx context.Context, h host.Held, _ protect.Mode, _ time.Duration) (protect.Quiet, error) {
	return quiet{h}, h.Exec(ctx, "true")
}

type quiet struct{ host.Held }

// Position implements protect.Quiet.
func (quiet) Position(context.Context) (protect.Position, error) {
	return protect.Position{Offset: 1}, nil
}

// Release implements protect.Quiet.
func (q quiet) Release(ctx context.Context) (map[string]string, error) {
	return nil, q.Exec(ctx, "true")
}

func data(c protect.Copy) string { return c.In(c.Server.Dir("data")) }

// Neutralise implements protect.Starter.
func (Engine) Neutralise(ctx context.Context, d host.Streamer, c protect.Copy) error {
	if _, err := d.Run(ctx, "rm", "-f", "--", path.Join(data(c), "identity")); err != nil {
		return err
	}
	return d.Replace(ctx, path.Join(c.Run, "conf"), []byte(c.Purpose), 0o600)
}

const serverScript = `echo $$ >"$1/up"
trap 'rm -f "$1/up"; exit 0' TERM
while :; do sleep 600 & wait $!; done`

// Serve implements protect.Starter.
func (Engine) Serve(c protect.Copy) (host.Process, host.Signal, string, error) {
	return host.Process{Argv: []string{"sh", "-c", serverScript, Kind, c.Run}}, host.Terminate, path.Join(c.Run, "log"), nil
}

// Open implements protect.Starter.
func (Engine) Open(_ context.Context, c protect.Copy) (load.Admin, error) {
	pid, err := os.ReadFile(path.Join(c.Run, "up"))
	if err == nil {
		_, err = os.Stat("/proc/" + strings.TrimSpace(string(pid)))
	}
	if err != nil || len(pid) == 0 {
		return nil, errors.Join(err, errors.New("it is not up"))
	}
	if _, err := os.Stat(path.Join(data(c), "identity")); err == nil {
		return nil, errors.New("it has its source's identity")
	}
	return admin{session{data(c)}}, nil
}

// admin is a session to a copy.
type admin struct{ session }

// Exec implements load.Admin. Nothing is ever open that COMMIT would end.
func (a admin) Exec(ctx context.Context, statements ...string) error {
	statements = slices.DeleteFunc(statements, func(s string) bool { return s == "COMMIT" })
	return a.session.Exec(ctx, strings.Join(statements, "\n"))
}

// Fill implements load.Admin.
func (admin) Fill(context.Context, string, []string, io.Reader, ...string) (int64, error) {
	return 0, errors.ErrUnsupported
}

// Recovered implements protect.Starter.
func (Engine) Recovered(context.Context, load.Admin, protect.Copy) (protect.Position, error) {
	return protect.Position{Offset: 1}, nil
}

// Same implements protect.Starter.
func (Engine) Same(protect.Position, protect.Position) string { return "" }

// Reached implements protect.Starter.
func (Engine) Reached(context.Context, load.Admin, protect.Copy, protect.Position) (protect.Check, error) {
	return protect.Check{What: "it stands where it stood"}, nil
}

// Check implements protect.Starter.
func (Engine) Check(context.Context, load.Admin, protect.Copy, bool) ([]protect.Check, error) {
	return nil, nil
}

// Follow implements protect.Starter.
func (Engine) Follow(ctx context.Context, _ host.Streamer, a load.Admin, c protect.Copy) error {
	return a.Exec(ctx, "echo follows >follows")
}

// Caught implements protect.Starter.
func (Engine) Caught(context.Context, load.Admin, protect.Copy) (string, error) { return "", nil }

// Place implements tables.Engine.
func (Engine) Place(t host.Target, _ tables.Name) host.Target { return t }

func file(n tables.Name) string { return filepath.Join(n...) }

// Free implements tables.Engine.
func (Engine) Free(ctx context.Context, h host.Held, _ protect.Server, as tables.Name) error {
	if err := h.Exec(ctx, "! [ -e "+file(as)+" ]"); err != nil {
		return fmt.Errorf("there is a table %s: %w", as, err)
	}
	return nil
}

// Carry implements tables.Engine. The first line of a table tells who made it.
func (Engine) Carry(_ context.Context, _ host.Streamer, _ load.Admin, c protect.Copy, n tables.Names) (tables.Carried, error) {
	return tables.Carried{
		Make:   []string{"echo " + n.Aside.Own() + " >" + file(n.Aside)},
		Rows:   host.Pipe{Argv: []string{"tail", "-n", "+2", path.Join(data(c), file(n.Of))}},
		End:    '\n',
		Row:    '(',
		Insert: "cat >>" + file(n.Aside) + " <<'END'\n",
		Put:    []string{"mv -n " + file(n.Aside) + " " + file(n.As)},
		Undo:   []string{"rm " + file(n.As)},
		There:  "[ ! -e " + file(n.As) + " ] || head -n 1 " + file(n.As),
		Is:     n.Aside.Own(),
		Content: func(of tables.Name) string {
			return "tail -n +2 " + file(of) + " | tr -d ' ,\\n' | cksum"
		},
	}, nil
}

// Drop implements tables.Engine.
func (Engine) Drop(of tables.Name) string { return "rm -f " + file(of) }

// Way implements replay.Engine.
func (Engine) Way(context.Context, host.Streamer, protect.Server, replay.Start, replay.Target) (replay.Way, error) {
	return replay.Way{Count: 1}, nil
}

// Stands implements replay.Engine.
func (e Engine) Stands(ctx context.Context, _ host.Streamer, a load.Admin, c protect.Copy) (protect.Position, error) {
	return e.Recovered(ctx, a, c)
}

// Replay implements replay.Engine.
func (Engine) Replay(ctx context.Context, d host.Streamer, _ load.Admin, c protect.Copy, _ replay.Way) error {
	_, err := d.Pipe(ctx, host.Pipe{Argv: []string{"sh", "-c", `cat >>"$1"`, "sh", path.Join(data(c), "replayed")}, In: strings.NewReader("replayed\n")})
	return err
}

// Settle implements replay.Engine.
func (Engine) Settle(ctx context.Context, d host.Streamer, c protect.Copy) error {
	_, err := d.Run(ctx, "sh", "-c", `echo mine >"$1"`, "sh", path.Join(data(c), "identity"))
	return err
}
