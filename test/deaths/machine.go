package deaths

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"plumb/internal/host"
)

// sqlMachine is this machine, whose database server is a directory and whose SQL is sh: tables are files, and a
// session types commands. It stands for the real servers of test/points, which take too long to start hundreds of times.
type sqlMachine struct{ *host.LiveDoer }

// Hold implements protect.Machine.
func (sqlMachine) Hold(_ context.Context, t host.Target) (host.Held, error) {
	return session{t.Address}, nil
}

// Query implements host.Reader.
func (sqlMachine) Query(ctx context.Context, t host.Target, query string) (host.Rows, error) {
	return session{t.Address}.Query(ctx, query)
}

// Exec implements host.Doer.
func (sqlMachine) Exec(ctx context.Context, t host.Target, statement string) error {
	return session{t.Address}.Exec(ctx, statement)
}

// session types commands in the server's directory.
type session struct{ dir string }

func (s session) sh(ctx context.Context, statement string) ([]byte, error) {
	c := exec.CommandContext(ctx, "sh", "-ec", statement)
	c.Dir = s.dir
	out, err := c.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w", statement, err)
	}
	return out, err
}

// Exec implements host.Held.
func (s session) Exec(ctx context.Context, statement string) error {
	_, err := s.sh(ctx, statement)
	return err
}

// Query implements host.Held. Each line is a row of one column.
func (s session) Query(ctx context.Context, query string) (r host.Rows, err error) {
	out, err := s.sh(ctx, query)
	r.Columns = []string{"line"}
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSuffix(line, "\n")
		r.Values = append(r.Values, []*string{&line})
	}
	return r, err
}

// ID implements host.Held.
func (session) ID() int64 { return 1 }

// Whole implements host.Held.
func (session) Whole(context.Context) error { return nil }

// Beside implements host.Held.
func (s session) Beside(context.Context) (host.Held, error) { return s, nil }

// Close implements host.Held.
func (session) Close() error { return nil }
