package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	archivecli "plumb/internal/cli/archive"
	forecastcli "plumb/internal/cli/forecast"
	loadcli "plumb/internal/cli/load"
	protectcli "plumb/internal/cli/protect"
	provisioncli "plumb/internal/cli/provision"
	"plumb/internal/cli/shell"
	watchcli "plumb/internal/cli/watch"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/system/process"
	"plumb/internal/units"
)

// group is a part of the help: what people come for, in two lines, and the
// commands for it, the most used first.
type group struct {
	title    string
	about    string
	does     string
	makes    bool // the commands make or change things, if only for as long as they run
	commands []*cobra.Command
}

// groups is the one list of the commands that are not hidden.
func (a *app) groups() []group {
	return []group{
		{"Look", "what runs here, what is out of line, why, and how long it will last", "Only reads. It changes nothing on the host or in a server.", false,
			[]*cobra.Command{a.check(), watchcli.Command(&a.Shell, a.watched()), a.explain(), a.stack(), forecastcli.Command(&a.Shell, a.readHost), a.capture(), a.rules()}},
		{"Change", "apply the advice, and revert it", "Everything is recorded in a journal or an inventory before it is done.", true,
			[]*cobra.Command{a.fix(), a.undo(), a.confirm(), a.history(), a.provision(), provisioncli.Boost(&a.Shell, lending()), a.inventory()}},
		{"Protect", "snapshots that are proven to start", "Makes snapshots and servers, and destroys only what is proven to be its own.", true,
			protectcli.Commands(&a.Shell, keepers())},
		{"Save", "backups and archived logs on other machines", "Overwrites nothing, and trusts only backups that a trusted host signed.", true,
			append(a.backups(), archivecli.Command(&a.Shell))},
		{"Measure", "what would the advice gain here, and how fast is this server or disk?", "Makes tables, files, volumes or servers of its own, and puts them under load.", true,
			[]*cobra.Command{a.rehearse(), loadcli.Command(&a.Shell, loads()), a.lab()}},
		{"Other", "for scripts and shells", "Describes Plumb itself.", false,
			[]*cobra.Command{a.schema(), a.completion(), a.version()}},
	}
}

// arrange adds the groups to the root command, and prints its help by them.
// The flags of every command are wrapped to the screen.
func (a *app) arrange(root *cobra.Command, groups []group) {
	help, last := a.help(root, groups), &groups[len(groups)-1]
	last.commands = append(last.commands, help)
	root.SetHelpCommand(help)
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, c := range g.commands {
			c.GroupID = g.title
			root.AddCommand(c)
		}
	}
	width := shell.Screen(a.Out).Width
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", width)))
	long := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		c.Long = shell.Reflow(c.Long, min(width, 80))
		long(c, args)
	})
	usual := root.UsageFunc()
	root.SetUsageFunc(func(c *cobra.Command) error {
		if c != root {
			return usual(c)
		}
		_, err := io.WriteString(c.OutOrStdout(), groupedUsage(c, groups))
		return err
	})
}

// plainDefaults writes the defaults of flags that take a time as people type them: 24h, not 24h0m0s.
func plainDefaults(c *cobra.Command) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Value.Type() != "duration" {
			return
		}
		if d, err := time.ParseDuration(f.DefValue); err == nil {
			f.DefValue = units.Short(d)
		}
	})
	for _, below := range c.Commands() {
		plainDefaults(below)
	}
}

// groupedUsage says what to type first, and describes each group in three lines.
func groupedUsage(root *cobra.Command, groups []group) string {
	var b strings.Builder
	b.WriteString("Usage:\n  plumb COMMAND [flags]\n\nMost used:\n" + root.Example + "\n")
	for _, g := range groups {
		var names []string
		for _, c := range g.commands {
			names = append(names, c.Name())
		}
		fmt.Fprintf(&b, "\n%s: %s\n  %s\n  %s\n", g.title, g.about, g.does, strings.Join(names, "  "))
	}
	b.WriteString("\nplumb help GROUP lists the commands of a group, such as plumb help look;\nplumb COMMAND --help shows its flags, examples and exit codes.\n")
	return b.String()
}

// help lists the commands of a group, or shows the help of a command.
func (a *app) help(root *cobra.Command, groups []group) *cobra.Command {
	return &cobra.Command{
		Use:   "help [GROUP|COMMAND]",
		Short: "list the commands of a group, or show the help of a command",
		Example: `  plumb help look
  plumb help backup prune`,
		RunE: func(_ *cobra.Command, args []string) error {
			for _, g := range groups {
				if len(args) == 1 && strings.EqualFold(args[0], g.title) {
					text := g.title + ": " + g.about + "\n"
					for _, c := range g.commands {
						text += fmt.Sprintf("  %-11s %s\n", c.Name(), c.Short)
					}
					return a.Print(text)
				}
			}
			c, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return a.NoSuchCommand(root, args)
			}
			return c.Help()
		},
	}
}

// firstLook limits how long plumb without arguments looks for servers.
const firstLook = 2 * time.Second

// mostNamed is how many servers it names.
const mostNamed = 8

// start is what plumb prints when nothing was asked: which servers run here,
// and what to type next.
func (a *app) start(ctx context.Context) error {
	sudo := "sudo "
	if os.Geteuid() == 0 {
		sudo = ""
	}
	rows := [][2]string{
		{sudo + "plumb check", "what is out of line on this host? It only reads"},
		{sudo + "plumb stack", "where do the servers keep their files, down to the disks?"},
		{"plumb explain NAME", "explains a rule or a setting"},
		{"plumb --help", "all commands"},
	}
	var b strings.Builder
	b.WriteString("Plumb finds what is out of line between a database and the machine under it.\n\n" + running(ctx) + "\n\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "  %-20s%s\n", r[0], r[1])
	}
	return a.Print(b.String())
}

// running says which servers run here. It looks at the process table only.
func running(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, firstLook)
	defer cancel()
	live := host.NewLive(host.LiveOptions{Plumb: shell.Version()})
	defer live.Close()
	s := observe.Host(ctx, live, []observe.Probe{process.Probe{}})
	var list []string
	for _, t := range s.OfKind("process") {
		list = append(list, fmt.Sprintf("%s (process %s)", t.Text("engine"), t.Ref.Name))
	}
	slices.Sort(list)
	if more := len(list) - mostNamed; more > 0 {
		list = append(list[:mostNamed], fmt.Sprintf("and %d more", more))
	}
	switch {
	case len(list) > 0:
		return "Servers running here:\n  " + strings.Join(list, "\n  ")
	case ctx.Err() != nil:
		return "The list of servers that run here could not be read in time."
	}
	return "No database server that Plumb knows is visible here.\nFor a server elsewhere: plumb check --dsn URL; for a recorded host: --tape FILE."
}
