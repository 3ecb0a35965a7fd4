package forecast

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
	"plumb/internal/forecast/model"
	"plumb/internal/hint"
	"plumb/internal/stack"
	view "plumb/internal/view/forecast"
)

// Read reads the machine that the flags name.
type Read func(ctx context.Context, src shell.Source) (*stack.Stack, error)

// modelExits are the exit codes of the commands that ask a model.
const modelExits = `Exit codes:
  0  done
  1  done, and a forecast was refused
  2  the command line is wrong
  3  what was to be read could not be read`

// models are the commands that ask a model.
func models(s *shell.Shell, read Read) []*cobra.Command {
	return []*cobra.Command{cacheCommand(s), loadCommand(s), zfsCommand(s, read), volumeCommand(s), monitorCommand(s), wearCommand(s)}
}

// told shows what a model says. A refusal is something about it.
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

func jsonFlag(c *cobra.Command, into *bool) {
	c.Flags().BoolVar(into, "json", false, "print JSON v1 (plumb schema forecast-model describes it)")
}

// table reads a CSV file that the command line names.
func table(name string) (model.Table, error) {
	data, err := contents(name)
	if err != nil {
		return model.Table{}, err
	}
	return model.ReadTable(name, data)
}

// contents gives a file that the command line names.
func contents(name string) ([]byte, error) {
	data, err := shell.ReadFile(name, nil, shell.MostFile)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return data, nil
}

// numbers reads the values of a flag that takes several.
func numbers(flag string, texts []string) (all []float64, err error) {
	for _, t := range texts {
		n, err := model.ReadNumber(t)
		if err != nil || n <= 0 {
			return nil, hint.Usage(fmt.Sprintf("--%s %s is no number above nought", flag, t), "such as --"+flag+" 16K, or several with commas")
		}
		all = append(all, n)
	}
	return all, nil
}
