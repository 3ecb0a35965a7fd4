// Package inner has the commands that only programs run: a Galera node, its user by sudo, and plumb itself.
package inner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/cli/protect/machine"
	"plumb/internal/cli/shell"
	"plumb/internal/engine/mysql/sst"
	"plumb/internal/hint"
	"plumb/internal/host/paths"
	"plumb/internal/protect/lend"
	"plumb/internal/stack"
)

// verbs makes the commands, and holds what they need of the process.
type verbs struct{ machine.Opener }

// Commands makes the commands.
func Commands(o machine.Opener) []*cobra.Command {
	v := &verbs{o}
	return []*cobra.Command{v.sst(), v.lend(), v.heir()}
}

const exits = `Exit codes:
  0  done as asked
  2  the command line is wrong
  3  refused, or failed`

// sstScript is the name of the script that the server looks for.
const sstScript = "#!/bin/sh\n# wsrep_sst_plumb: wsrep_sst_method = plumb\nexec plumb sst \"$@\"\n"

// sst is what Galera calls wsrep_sst_plumb. It is hidden, as servers run it.
func (v *verbs) sst() *cobra.Command {
	return &cobra.Command{
		Use:   "sst [--lend COMMAND] ARGUMENTS",
		Short: "send or receive the state of a Galera node, for wsrep_sst_method = plumb",
		Long: `Sst is the program wsrep_sst_plumb, which a Galera node runs as its own user, both
when it joins a cluster and when it is the donor:

  plumb sst --script > /usr/bin/wsrep_sst_plumb; chmod 755 /usr/bin/wsrep_sst_plumb

The donor takes a point, which blocks it while the snapshot is taken, sends its
files, and removes it. Only root can take one: the server's user runs plumb lend
with sudo, which lends it only the files of its own server:

  mysql ALL=(root) NOPASSWD: /usr/bin/plumb lend

--lend COMMAND, in the script, runs another command instead of sudo -n plumb lend.

Set wsrep_sst_auth to the same secret, NAME:PASSWORD, on all nodes. Without it,
whoever sees the joiner's address while it waits, in the error log or among the
processes, can send it files. The transfer is encrypted in either case.

` + exits,
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 || args[0] == "--help" || args[0] == "-h":
				return c.Help()
			case args[0] == "--script":
				return v.Print(sstScript)
			}
			return v.runSST(c.Context(), args)
		},
	}
}

// lender returns the command that takes the donor's point, and the remaining arguments.
func lender(args []string) (command, rest []string, err error) {
	if len(args) > 1 && args[0] == "--lend" {
		return strings.Fields(args[1]), args[2:], nil
	}
	plumb, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	if os.Geteuid() == 0 {
		return []string{plumb, "lend"}, args, nil
	}
	return []string{"sudo", "-n", plumb, "lend"}, args, nil
}

func (v *verbs) runSST(ctx context.Context, args []string) (err error) {
	lend, args, err := lender(args)
	if err != nil {
		return err
	}
	r, err := sst.ParseRequest(args)
	if err != nil {
		return err
	}
	d := shell.Machine()
	defer func() { err = errors.Join(err, d.Close()) }()
	secret := os.Getenv("WSREP_SST_OPT_AUTH")
	say := func(line string) { _, _ = io.WriteString(v.Out, line+"\n") } // an error means that the server is gone, which is noticed elsewhere
	log := func(text string) {
		_, _ = fmt.Fprintf(v.Err, "%s WSREP_SST: [INFO] plumb: %s\n", time.Now().Format(time.DateTime), shell.OneLine(text))
	}
	if r.Role == sst.RoleDonor {
		return sst.Donor{Do: d, Request: r, Secret: secret, Lend: lend, Say: say, Log: log}.Run(ctx)
	}
	return sst.Joiner{Do: d, Request: r, Secret: secret, Say: say, Log: log}.Run(ctx)
}

// lend takes a point for a process of the server's user. It is hidden, as plumb sst runs it.
func (v *verbs) lend() *cobra.Command {
	var p machine.Place
	c := &cobra.Command{
		Use:   "lend",
		Short: "lend the files of a point to the server's user; plumb sst needs it",
		Long: `Lend reads a data directory from its standard input, takes a point of the server
that runs on it, mounts the point's files read-only, and removes everything when
its input ends. The caller, who is told when, makes the server block its writes.

It is for sudo: the user who runs it gets the files of servers that run as that
user, and no others. Files keep their owners and permissions.

` + exits,
		Args:   shell.NoArgs,
		Hidden: true,
		RunE: func(c *cobra.Command, _ []string) error {
			return v.On(p, func(m *machine.Machine) error { return v.runLend(c.Context(), m) })
		},
	}
	p.Flags(c)
	return c
}

// longestPath limits the length of the line that names the data directory.
const longestPath = 4096

func (v *verbs) runLend(ctx context.Context, m *machine.Machine) error {
	in := v.In
	dir, err := readPath(in)
	if err != nil {
		return err
	}
	s, err := m.Look(ctx)
	if err != nil {
		return err
	}
	ref, err := serverOn(m, s, dir)
	if err != nil {
		return err
	}
	plan, err := m.Keeper.Plan(ctx, m.Seen, s, ref)
	if err != nil {
		return err
	}
	if by := os.Getenv("SUDO_UID"); by != "" && by != strconv.Itoa(plan.Server.UID) {
		return hint.With(fmt.Errorf("%s runs as user %d, and user %s asks for its files", ref, plan.Server.UID, by), "sudo must be used by the server's own user")
	}
	if err := sst.Sendable(plan.Server); err != nil {
		return err
	}
	return lend.Lender{Keeper: m.Keeper, Copies: m.Copies}.Lend(ctx, plan, in, v.Out)
}

// serverOn finds the server with a data directory.
func serverOn(m *machine.Machine, s *stack.Stack, dir string) (stack.Ref, error) {
	servers := m.Servers(s)
	for _, r := range s.Roles {
		for _, ref := range servers {
			if r.DB == ref && r.Name == "data" && paths.Within(dir, r.Path) && paths.Within(r.Path, dir) {
				return ref, nil
			}
		}
	}
	return stack.Ref{}, hint.With(fmt.Errorf("no server was found that keeps its data in %s", dir), "plumb stack shows what is seen")
}

func readPath(r io.Reader) (string, error) {
	var line []byte
	for b := make([]byte, 1); len(line) < longestPath; line = append(line, b[0]) {
		if _, err := io.ReadFull(r, b); err != nil {
			return "", fmt.Errorf("read the data directory from the standard input: %w", err)
		}
		if b[0] == '\n' {
			return string(line), nil
		}
	}
	return "", errors.New("the data directory on the standard input is too long")
}
