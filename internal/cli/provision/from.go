package provision

import (
	"context"
	"strings"

	"plumb/internal/check"
	"plumb/internal/cli/shell"
	"plumb/internal/engine/dsn"
	"plumb/internal/host"
	"plumb/internal/provision/propose"
	"plumb/internal/provision/spec"
	"plumb/internal/stack"
)

// live is the word that stands for this host where a tape can be named.
const live = "live"

// fromHost prints the spec that describes a host as it is.
func (v *verbs) fromHost(ctx context.Context, f flags, server string) error {
	if f.from != live {
		f.Tape = f.from
	}
	if err := f.Validate(); err != nil {
		return err
	}
	s, names, err := v.look(ctx, f)
	if err != nil {
		return err
	}
	sp, notes, err := propose.From(s, server, names)
	if err != nil {
		return err
	}
	var head strings.Builder
	head.WriteString("# Written by plumb provision --from " + shell.OneLine(f.from) + ": what is there. plumb provision --dry-run shows what a host of this spec gets.\n")
	for _, n := range notes {
		head.WriteString("# " + shell.OneLine(n) + "\n")
	}
	return v.Print(head.String() + string(spec.Text(sp)))
}

// look reads this host or a tape. Other names of disks are only known of this host.
func (v *verbs) look(ctx context.Context, f flags) (*stack.Stack, propose.Names, error) {
	cat, err := check.Catalog(check.All, v.Warn)
	if err != nil {
		return nil, nil, err
	}
	if f.Tape != "" {
		h, err := v.Tape(f.Tape)
		if err != nil {
			return nil, nil, err
		}
		s, err := check.Observe(ctx, h, cat, v.Phases(cat, dsn.OnTape(h.About().Given)), f.Timeout)
		return s, nil, err
	}
	l, given, err := f.Live(v.Dialers)
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	names, err := propose.LastingNames(ctx, l)
	if err != nil {
		return nil, nil, err
	}
	s, err := check.Observe(ctx, host.NewCached(l), cat, v.Phases(cat, given), f.Timeout)
	return s, names, err
}
