// Package pgbackrest drives pgBackRest (https://pgbackrest.org), which backs up PostgreSQL wherever its data lie: it
// writes its configuration, runs it as the server's user, reads what it says in JSON, and restores with it.
//
// What is said of it here is read in the source and the reference of 2.45, which Debian 12 has, up to 2.59.1.
package pgbackrest

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"plumb/internal/backup/driven"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/limited"
	"plumb/internal/product"
	"plumb/internal/units"
)

// Tool implements [driven.Whole].
type Tool struct{}

var _ driven.Whole = Tool{}

// Name implements driven.Tool.
func (Tool) Name() string { return "pgbackrest" }

// Kind implements driven.Tool.
func (Tool) Kind() string { return product.Postgres }

var saidVersion = regexp.MustCompile(`^pgBackRest (\d{1,3}\.\d{1,3}\S{0,20})\s*$`)

// Have implements driven.Tool.
func (Tool) Have(ctx context.Context, d host.Streamer) (string, error) {
	missing := hint.With(errors.New("pgBackRest is not installed here"), "apt install pgbackrest, or dnf install pgbackrest: Debian's is old, and that of the PostgreSQL project (apt.postgresql.org, yum.postgresql.org) is not")
	return driven.Version(ctx, d, saidVersion, missing, "pgbackrest", "version")
}

// asked is one call of the program.
type asked struct {
	command []string
	out     *limited.Buffer // nil where only an error is of interest
	limit   time.Duration   // for how long it may say and do nothing
}

// call runs the program as the server's user, without the environment of whoever runs Plumb: what PGBACKREST_ variables say
// counts before the configuration. No secret is on its command line, where the program refuses them.
func call(ctx context.Context, d host.Streamer, s driven.Set, a asked) error {
	argv := s.Server.As(d.About().Root)
	if a.out == nil {
		a.out = answers()
	}
	// What is wrong comes on its output, whole: of the other one a pipe keeps the end.
	argv = append(append(argv, line(s)...), "--log-level-console=error", "--log-level-stderr=off")
	flow, err := d.Pipe(ctx, host.Pipe{Argv: append(argv, a.command...), Out: a.out, Works: true, Progress: a.limit, Grace: 30 * time.Second})
	if err != nil && flow.Code > 0 {
		return meaning(a.command[0], flow.Code, a.out.String(), err)
	}
	return err
}

// line is the beginning of its command line: the program, and what it reads, which is nothing of somebody else's.
func line(s driven.Set) []string {
	return []string{"pgbackrest", "--config=" + s.Config, "--config-include-path=" + s.Private, "--stanza=" + s.Name}
}

var (
	saidError = regexp.MustCompile(`(?m)ERROR: \[(\d{3})\]: (.*)$`)
	saidHint  = regexp.MustCompile(`(?m)^\s*HINT: (.*)$`)
	// What another key makes of a file is noise: by chance bad padding, no section, no JSON or another sum, and each has a code
	// of its own.
	saidNoise = regexp.MustCompile(`(?m)^\s*(?:Crypto|Format|JsonFormat|Checksum)Error: `)
)

// Failure is an error of pgBackRest's.
type Failure struct {
	Code int    // of src/build/error/error.yaml
	Text string // as it said it
}

// Error implements error.
func (f *Failure) Error() string { return f.Text }

// Codes of errors that mean something here.
const (
	codeLock    = 50 // another one runs
	codeOther   = 28 // file-invalid: of the repository, when it is another server's
	codeCrypto  = 95 // the key is another, or there is none
	codeTimeout = 82 // no file of the log arrived
)

// meaning takes out of what the program wrote what a person needs.
func meaning(command string, code int, said string, err error) error {
	f := &Failure{Code: code, Text: err.Error()}
	var hints []string
	if m := saidError.FindStringSubmatch(said); m != nil {
		f.Text = strings.TrimSpace(m[2])
		for _, h := range saidHint.FindAllStringSubmatch(said[strings.Index(said, m[0]):], 5) {
			hints = append(hints, strings.TrimSpace(h[1]))
		}
	}
	f.Text = units.Start(f.Text, 1000)
	if saidNoise.MatchString(said) {
		code = codeCrypto
	}
	if what := helps(code); what != "" {
		hints = []string{what}
	}
	return hint.With(fmt.Errorf("pgbackrest %s: %w", command, f), strings.Join(hints, "; "))
}

// helps says what a person can do about an error, where Plumb knows better than the program.
func helps(code int) string {
	switch code {
	case codeLock:
		return "another pgbackrest works on this server: wait until it has ended"
	case codeCrypto:
		return "the key is not the one with which this repository was begun: put that back, or name a place that is empty; if it is, the file is damaged"
	case codeTimeout:
		return "look into the server's log for what archive_command says, and at SELECT * FROM pg_stat_archiver"
	}
	return ""
}

// is tells whether an error of the program has a code.
func is(err error, code int) bool {
	f, ok := errors.AsType[*Failure](err)
	return ok && f.Code == code
}

// most is how much of an answer is read, in bytes.
const most = 64 << 20

func answers() *limited.Buffer {
	return limited.NewBuffer(most, fmt.Errorf("it gives more than %s", units.Bytes(most)))
}

// answer runs a command that only reads.
func answer(ctx context.Context, d host.Streamer, s driven.Set, command ...string) ([]byte, error) {
	out := answers()
	err := call(ctx, d, s, asked{command: command, out: out, limit: 2 * time.Minute})
	return out.Bytes(), err
}
