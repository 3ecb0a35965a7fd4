package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"plumb/internal/check"
	"plumb/internal/hint"
	stackview "plumb/internal/view/stack"
)

func (a *app) stack() *cobra.Command {
	var src source
	var only []string
	var asJSON bool
	c := &cobra.Command{
		Use:   "stack",
		Short: "draw what stands on what, from each database down to the disks",
		Long: `Stack draws where every server keeps its files: from its data, logs and
temporary files down through filesystems, datasets and pools or volumes to the
disks, with the values that matter at each level. It changes nothing.

` + readExits,
		Example: `  plumb stack
  plumb stack --only mysql:3306
  plumb stack --tape db1.tape
  plumb stack --json               every fact, with where it was read`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := src.validate(); err != nil {
				return err
			}
			if src.isDirectory() {
				return hint.Usage("a stack is of one host, and --tape names a directory", "give one tape")
			}
			if err := onlyServers(only); err != nil {
				return err
			}
			cat, err := a.loadCatalog()
			if err != nil {
				return err
			}
			s, err := a.read(c.Context(), cat, src)
			if err != nil {
				return err
			}
			if err := check.There(only, s); err != nil {
				return err
			}
			if asJSON {
				return a.document(stackview.Document(s, programVersion()))
			}
			return a.print(stackview.Text(s, cat, only, screen(a.out)))
		},
	}
	src.flags(c)
	c.Flags().StringSliceVar(&only, "only", nil, "only these `SERVERS`: mysql, or mysql:3306")
	c.Flags().BoolVar(&asJSON, "json", false, "print every fact as JSON v1")
	return c
}

// onlyServers checks that --only of stack names servers: it draws nothing
// else on its own.
func onlyServers(only []string) error {
	engines := slices.Sorted(maps.Values(programs()))
	engines = slices.Compact(engines)
	for _, o := range only {
		if kind, _, _ := strings.Cut(o, ":"); !slices.Contains(engines, kind) {
			return hint.Usage(fmt.Sprintf("--only %s is no server", o), "want "+strings.Join(engines, ", ")+", or one of them such as mysql:3306")
		}
	}
	return nil
}
