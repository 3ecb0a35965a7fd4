package provision

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/check"
	"plumb/internal/cli/shell"
	"plumb/internal/engine/dsn"
	"plumb/internal/fix"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/provision/boost"
	"plumb/internal/stack"
)

// Lending holds what boost and cache need to know of servers and storages.
type Lending struct {
	Dialers func(dsn.Given) map[string]host.Dialer
	Phases  func(*catalog.Catalog, dsn.Given) [][]observe.Probe
	Setters func(*catalog.Catalog, dsn.Given) []change.Setter
	Loaders []boost.Loader
}

// lending is a command that sets something for a while.
type lending struct {
	*shell.Shell
	Lending
	shell.Source
	state string
}

// opened is this machine as it was read, with what changes it for a while.
type opened struct {
	*boost.Lender
	doer  *host.LiveDoer
	close func()
}

// open opens this machine, and reads it.
func (b *lending) open(ctx context.Context) (o opened, err error) {
	b.DSN = shell.OrEnvironment(b.DSN)
	cat, err := check.Catalog(check.All, b.Warn)
	if err != nil {
		return o, err
	}
	live, given, err := b.Live(b.Dialers)
	if err != nil {
		return o, err
	}
	b.WarnUnverified(given)
	o.doer = host.NewLiveDoer(live)
	o.close = func() { o.doer.Close() }
	o.Lender = &boost.Lender{Do: o.doer, Executor: b.Executor(o.doer, b.state), Catalog: cat, Setters: b.Setters(cat, given), User: live.About().User, Heir: b.heir,
		Say: func(text string) { fmt.Fprintf(b.Err, "plumb: %s\n", shell.OneLine(text)) }}
	o.Undo = fix.Undo{Open: b.anew}
	o.Stack, err = check.Observe(ctx, host.NewCached(live), cat, b.Phases(cat, given), b.Timeout)
	if err != nil {
		return o, errors.Join(err, o.doer.Close())
	}
	return o, nil
}

// anew opens this machine once more, as earlier sessions may be broken.
func (b *lending) anew() (*host.LiveDoer, *change.Executor, error) {
	live, _, err := b.Live(b.Dialers)
	if err != nil {
		return nil, nil, err
	}
	d := host.NewLiveDoer(live)
	return d, b.Executor(d, b.state), nil
}

// heir is the command of the process that gives everything back if we cannot. It gets a password on its standard input.
func (b *lending) heir(number int) (argv []string, first []byte, err error) {
	argv, err = shell.Itself(b.state, "undo", strconv.Itoa(number), "--heir", "--yes")
	if b.DSN != "" {
		argv, first = append(argv, "--dsn", "-"), []byte(b.DSN+"\n")
	}
	return argv, first, err
}

const unitDirectory = "/etc/systemd/system"

// unit gives back at the next boot, where systemd runs. Root runs this program then: one that others can change is refused.
func (b *lending) unit(ctx context.Context, d host.Reader) (*boost.Unit, error) {
	if runs, err := host.RunsSystemd(ctx, d); err != nil || !runs || !d.About().Root {
		return nil, err
	}
	argv, err := shell.Itself(b.state, "undo", "--stranded", "--yes")
	if err == nil {
		_, err = host.OnlyOurs(argv[0])
	}
	if err != nil {
		return nil, hint.With(fmt.Errorf("prepare the next boot to restore the settings: %w", err), "put plumb where root alone can change it, such as /usr/local/bin")
	}
	state, err := filepath.Abs(cmp.Or(b.state, change.Directory))
	if err != nil {
		return nil, err
	}
	_, err = d.Stat(ctx, unitDirectory+"/multi-user.target.d")
	return &boost.Unit{Dir: unitDirectory, Command: argv, State: state, Alone: errors.Is(err, fs.ErrNotExist)}, nil
}

// before lists the units of servers, before which the unit must run.
func before(ctx context.Context, h host.Reader, s *stack.Stack, servers []stack.Ref) (units []string) {
	for _, ref := range servers {
		t := s.Find(ref)
		if t == nil {
			continue
		}
		processes, _ := s.Follow(t, "process")
		for _, p := range processes {
			if u := observe.OwnUnit(ctx, h, s, p); u != "" {
				units = append(units, u)
			}
		}
	}
	return units
}
