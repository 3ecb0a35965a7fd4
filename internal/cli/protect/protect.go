// Package protect has the commands about points in time: snapshot, drill, clone,
// prune and protect. Engines and storages are passed in.
package protect

import (
	"github.com/spf13/cobra"

	"plumb/internal/cli/protect/inner"
	"plumb/internal/cli/protect/machine"
	"plumb/internal/cli/shell"
)

// verbs makes the commands, and holds what they need of the process.
type verbs struct{ machine.Opener }

// Commands makes the commands, the most used first.
func Commands(s *shell.Shell, a machine.Adapters) []*cobra.Command {
	v := &verbs{machine.Opener{Shell: s, Adapters: a}}
	return []*cobra.Command{v.snapshot(), v.drill(), v.clone(), v.rollback(), v.replicate(), v.prune(), v.protect()}
}

const exits = `Exit codes:
  0  done as asked
  1  done, but with less than was asked for: see the output
  2  the command line is wrong
  3  refused, or failed`

// Hidden makes the commands that only programs call.
func Hidden(s *shell.Shell, a machine.Adapters) []*cobra.Command {
	v := &verbs{machine.Opener{Shell: s, Adapters: a}}
	return append(inner.Commands(v.Opener), v.receive(), v.proveReceived())
}
