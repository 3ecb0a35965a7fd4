// Package protect is the commands about points in time: snapshot, drill, clone,
// prune and protect. Engines and storages are passed in.
package protect

import (
	"github.com/spf13/cobra"

	"plumb/internal/catalog"
	"plumb/internal/cli/shell"
	"plumb/internal/engine/dsn"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/protect"
)

// Adapters are the engines and storages that the commands know.
type Adapters struct {
	Dialers  func(dsn.Given) map[string]host.Dialer
	Phases   func(*catalog.Catalog, dsn.Given) [][]observe.Probe
	Engines  func(*catalog.Catalog, dsn.Given) []protect.Engine
	Storages func(with string) []protect.Storage // with: somebody's own command that takes the snapshots, or the name of a storage that is only used when asked for; "" for none
	Freezer  protect.Freezer
	Grants   func() string // the least rights of each verb, as a text for people
}

// verbs are the commands, with what they need of the process.
type verbs struct {
	*shell.Shell
	Adapters
}

// Commands makes the commands, the most used first.
func Commands(s *shell.Shell, a Adapters) []*cobra.Command {
	v := &verbs{s, a}
	return []*cobra.Command{v.snapshot(), v.drill(), v.clone(), v.rollback(), v.replicate(), v.prune(), v.protect()}
}

const exits = `Exit codes:
  0  done as asked
  1  done, and it is less than was asked: see what is said
  2  the command line is wrong
  3  refused, or failed`

// Hidden makes the commands that no person types.
func Hidden(s *shell.Shell, a Adapters) []*cobra.Command {
	v := &verbs{s, a}
	return []*cobra.Command{v.receive()}
}

// grantsFlag adds a flag that only prints.
func grantsFlag(c *cobra.Command, into *bool) {
	c.Flags().BoolVar(into, "grants", false, "print the least rights that this needs, in each server and on the storage, and stop")
}

func jsonFlag(c *cobra.Command, into *bool) {
	c.Flags().BoolVar(into, "json", false, "print JSON v1 (plumb schema describes it)")
}
