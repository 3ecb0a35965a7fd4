package forecast

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
	"plumb/internal/cli/value"
	"plumb/internal/forecast/model"
	"plumb/internal/hint"
	"plumb/internal/stack"
	"plumb/internal/units"
	view "plumb/internal/view/forecast"
)

// Read reads the machine that the flags name.
type Read func(ctx context.Context, src shell.Source) (*stack.Stack, error)

// modelExits lists the exit codes of the commands that ask a model.
const modelExits = `Exit codes:
  0  done
  1  done, and a forecast was refused
  2  the command line is wrong
  3  it could not read what it needs`

// models makes the commands that ask a model.
func models(s *shell.Shell, read Read) []*cobra.Command {
	return []*cobra.Command{cacheCommand(s), loadCommand(s), zfsCommand(s, read), volumeCommand(s), monitorCommand(s), wearCommand(s)}
}

// told prints what a model says, which can be that it refuses to say anything.
func told(s *shell.Shell, of, title string, asJSON bool, all []view.Asked) error {
	if err := s.Answer(asJSON, view.ModelDocument(of, all), view.ModelText(title, all, shell.Screen(s.Out))); err != nil {
		return err
	}
	for _, a := range all {
		if a.Refusal != nil {
			return shell.ErrFound
		}
	}
	return nil
}

// table reads a CSV file that the command line names.
func table(name string) (model.Table, error) {
	data, err := contents(name)
	if err != nil {
		return model.Table{}, err
	}
	return model.ReadTable(name, data)
}

// contents reads a file that the command line names.
func contents(name string) ([]byte, error) {
	data, err := shell.ReadFile(name, nil, shell.MostFile)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return data, nil
}

// numbers parses the values of a flag that takes several.
func numbers(flag string, texts []string, read func(string) (float64, error), such string) (all []float64, err error) {
	for _, t := range texts {
		n, err := read(t)
		if err != nil || n <= 0 {
			return nil, hint.Usage(fmt.Sprintf("--%s %s is not a number above zero", flag, t), fmt.Sprintf("such as --%s %s, or several with commas", flag, such))
		}
		all = append(all, n)
	}
	return all, nil
}

// inBytes is a flag for a size in bytes, with the least size that can be meant.
type inBytes struct {
	flag  string
	given value.Size // 0 when it was not given
	least int64
	such  string
}

// unitless is a usage error for a size whose unit was probably forgotten: --io 16 is 16 bytes.
func unitless(flags ...inBytes) error {
	for _, f := range flags {
		if f.given > 0 && int64(f.given) < f.least {
			return hint.Usage(fmt.Sprintf("--%s %s is less than %s: without a unit the size is in bytes", f.flag, f.given.String(), units.Bytes(f.least)), "such as --"+f.flag+" "+f.such)
		}
	}
	return nil
}

// Sizes below which nobody means bytes.
const (
	leastBlock = 512
	leastOfAll = 1 << 20
)
