// Package driven is what the commands about backups do with --with: another program makes the backups, and Plumb
// configures, runs and judges it.
package driven

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"plumb/internal/backup"
	"plumb/internal/backup/driven"
	"plumb/internal/catalog"
	"plumb/internal/change"
	backupcli "plumb/internal/cli/backup"
	"plumb/internal/cli/protect/machine"
	"plumb/internal/cli/shell"
	"plumb/internal/engine/dsn"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/stack"
)

// Adapters holds the tools, and what sets a server's settings.
type Adapters struct {
	machine.Adapters
	Tools   []driven.Tool
	Setters func(*catalog.Catalog, dsn.Given) []change.Setter
	// Found completes a set with what only the server itself knows.
	Found func(ctx context.Context, h host.Reader, t host.Target, s *driven.Set) error
}

type verbs struct {
	machine.Opener
	Adapters
}

// asked is what the command line says.
type asked struct {
	with, stanza  string
	server        string // the argument, which can also name something else
	url           string
	endpoint      string
	region, state string
	json          bool
	kind          string
	fullEvery     time.Duration
	diffEvery     time.Duration
	every         time.Duration
	keep          int
	archiving     bool
	flags         *pflag.FlagSet
}

// day is a time of day.
const day = 24 * time.Hour

// Extend adds --with to the commands about backups.
func Extend(s *shell.Shell, a Adapters, all []*cobra.Command) {
	v := &verbs{machine.Opener{Shell: s, Adapters: a.Adapters}, a}
	for _, c := range all {
		switch c.Name() {
		case "backup":
			v.extend(c, v.backup, []string{"to", "endpoint", "region"}, func(o *asked, fl *pflag.FlagSet) {
				fl.BoolVar(&o.archiving, "set-archiving", false, "with --with: have the server's log archived too, if nothing does: pgbackrest by archive_mode and archive_command, pbm by pitr.enabled")
				fl.StringVar(&o.kind, "type", "auto", "with --with: `KIND` full, diff or incr; auto goes by --full-every and --diff-every")
				fl.DurationVar(&o.fullEvery, "full-every", 7*day, "with --with: make a full backup when the last one is this old")
				fl.DurationVar(&o.diffEvery, "diff-every", day, "with --with: make a differential backup when the last one is this old")
				fl.IntVar(&o.keep, "keep-full", 0, "with --with: keep the last `N` full backups and what builds on them; 0: all")
			})
			for _, sub := range c.Commands() {
				if sub.Name() == "list" {
					v.extend(sub, v.list, []string{"note", "textfile"}, func(o *asked, fl *pflag.FlagSet) {
						fl.DurationVar(&o.every, "every", 0, "with --with: complain when the newest is older than 1.5 times this `TIME`")
					})
				}
			}
		case "verify":
			v.extend(c, v.verify, []string{"restore"}, nil)
		case "restore":
			v.extend(c, v.restore, []string{"from", "endpoint", "region", "identity", "dir", "to", "user", "timeline", "replace"}, nil)
		}
	}
}

// names lists the names of the tools.
func (v *verbs) names() (all []string) {
	for _, t := range v.Tools {
		all = append(all, t.Name())
	}
	return all
}

// extend has a command do something else when it is given --with. permitted are the flags of its own that still mean
// something then.
func (v *verbs) extend(c *cobra.Command, run func(context.Context, asked, string) error, permitted []string, more func(*asked, *pflag.FlagSet)) {
	o := asked{flags: c.Flags()}
	own := c.RunE
	had := map[string]bool{}
	c.Flags().VisitAll(func(f *pflag.Flag) { had[f.Name] = true })
	c.Flags().StringVar(&o.with, "with", "", "not by Plumb: by the `TOOL` "+hint.OneOf(v.names())+", which Plumb configures, runs and judges")
	c.Flags().StringVar(&o.stanza, "stanza", "", "with --with: the tool's `NAME` for the server's backups")
	if more != nil {
		more(&o, c.Flags())
	}
	permitted = append(permitted, "state", "json")
	c.Flags().Lookup("with").Annotations = map[string][]string{shell.Instead: {"true"}}
	c.RunE = func(c *cobra.Command, args []string) error {
		var wrong error
		c.Flags().Visit(func(f *pflag.Flag) {
			switch of := c.LocalFlags().Lookup(f.Name); {
			case of == nil || wrong != nil:
			case o.with == "" && f.Name != "with" && !had[f.Name]:
				wrong = hint.Usage("--"+f.Name+" is for backups that another tool makes", "--with "+hint.OneOf(v.names()))
			case o.with != "" && had[f.Name] && !slices.Contains(permitted, f.Name):
				wrong = hint.Usage("--"+f.Name+" is for backups that Plumb makes, and --with names another tool", "leave out one of them")
			}
		})
		if wrong != nil {
			return wrong
		}
		if o.with == "" {
			err := own(c, args)
			if errors.Is(err, backupcli.ErrNoPoint) {
				err = hint.With(err, hint.Of(err)+"; where a server's filesystem takes no snapshots, another tool can back it up: "+v.ways())
			}
			return err
		}
		o.read()
		return run(c.Context(), o, strings.Join(args, ""))
	}
}

// ways says of each tool what it is for.
func (v *verbs) ways() string {
	var all []string
	for _, t := range v.Tools {
		all = append(all, "plumb backup SERVER --with "+t.Name()+" for "+t.Kind())
	}
	return strings.Join(all, ", ")
}

// read reads the flags that the command had before it was extended.
func (o *asked) read() {
	text := func(name string) string {
		if f := o.flags.Lookup(name); f != nil && f.Value.Type() == "string" {
			return f.Value.String()
		}
		return ""
	}
	o.endpoint, o.region, o.state = text("endpoint"), text("region"), text("state")
	o.json, _ = o.flags.GetBool("json")
}

// place parses where the backups are.
func (o *asked) place(flag string) error {
	all, err := o.flags.GetStringArray(flag)
	if err != nil || len(all) > 1 {
		return errors.Join(err, hint.Usage("several places were named, and "+o.with+" takes one", "the tool itself can keep a second copy: repo2"))
	}
	if len(all) == 1 {
		o.url = all[0]
	}
	return nil
}

// usual is the default directory of configurations.
const usual = "/etc/plumb/"

// reach notes how a bucket is reached, of a set that has its backups in one.
func (o asked) reach(s *driven.Set) {
	if driven.Local(o.url) == "" {
		s.Endpoint, s.Region = shell.EndpointOfAWS(o.endpoint, o.region)
		_, s.CA = shell.AuthoritiesOfAWS()
	}
}

// files returns the directory of a tool's configurations. Servers' users must be able to reach files in it.
func (o asked) files() (string, error) {
	if o.state == "" || o.state == backup.Directory {
		return usual + o.with, nil
	}
	dir, err := filepath.Abs(o.state)
	return dir + "-" + o.with, err
}

// tool finds the tool that is meant.
func (v *verbs) tool(name string) (driven.Tool, error) {
	for _, t := range v.Tools {
		if t.Name() == name {
			return t, nil
		}
	}
	return nil, hint.Usage(fmt.Sprintf("nothing is known of a tool %q", name), "want "+hint.OneOf(v.names()))
}

// whole finds the tool that is meant, which must be one that Plumb can also configure and restore with.
func (v *verbs) whole(name, verb string) (driven.Whole, error) {
	t, err := v.tool(name)
	if err != nil {
		return nil, err
	}
	w, is := t.(driven.Whole)
	if !is {
		return nil, hint.With(fmt.Errorf("plumb does not %s with %s: it runs it, and reads what it says", verb, name), "do that with "+name+" itself; docs/backup.md says how")
	}
	return w, nil
}

// sets is where the sets are written down: what is backed up, and how.
func (o asked) sets(d host.Doer) (driven.Sets, error) {
	at, err := backup.At(o.state)
	return driven.Sets{Do: d, Dir: driven.Directory(at)}, err
}

// set finds the set that is meant.
func (o asked) set(ctx context.Context, d host.Doer) (driven.Set, error) {
	b, err := o.sets(d)
	if err != nil {
		return driven.Set{}, err
	}
	all, err := b.Of(ctx, o.with)
	if err != nil {
		return driven.Set{}, err
	}
	return driven.Find(all, o.with, o.stanza)
}

// on calls a command with this machine, without looking at it first.
func (v *verbs) on(do func(d *host.LiveDoer) error) (err error) {
	d := shell.Machine()
	defer func() { err = errors.Join(err, d.Close()) }()
	return do(d)
}

// stanzaOf is the name of a server's backups unless a flag names them.
func stanzaOf(server stack.Ref) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '-'
	}, strings.ToLower(server.Name))
	return strings.Trim("pg-"+name, "-")
}
