package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"plumb/internal/catalog"
	"plumb/internal/check"
	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/product"
	"plumb/internal/stack"
	stackview "plumb/internal/view/stack"
)

func (a *app) stack() *cobra.Command {
	var src shell.Source
	var only []string
	var since string
	var asJSON bool
	c := &cobra.Command{
		Use:   "stack",
		Short: "draw where each database keeps its files, down to the disks",
		Long: `Stack draws where every server keeps its files: from its data, logs and temporary
files down through filesystems, datasets and pools or volumes to the disks, with
the values that matter at each level. It changes nothing.

With --since FILE it shows what happened since plumb stack --json wrote that file:
how much counters grew, in total and per second, and which values changed.

` + shell.ReadExits,
		Example: `  plumb stack
  plumb stack --only mysql:3306
  plumb stack --tape db1.tape
  plumb stack --json               every fact, with where it was read
  plumb stack --json > before.json; sleep 60; plumb stack --since before.json`,
		Args: shell.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := src.Validate(); err != nil {
				return err
			}
			if src.IsDirectory() {
				return hint.Usage("stack shows one host, but --tape names a directory", "give one tape")
			}
			if err := onlyServers(only); err != nil {
				return err
			}
			cat, err := a.loadCatalog()
			if err != nil {
				return err
			}
			s, err := a.read(c.Context(), cat, src)
			if err == nil {
				err = check.There(only, s)
			}
			if err != nil {
				return err
			}
			if since != "" {
				return a.stackSince(since, s, cat, asJSON)
			}
			return a.Answer(asJSON, stackview.Document(s, shell.Version()), stackview.Text(s, cat, only, shell.Screen(a.Out)))
		},
	}
	src.Flags(c)
	c.Flags().StringSliceVar(&only, "only", nil, "only these `SERVERS`: mysql, or mysql:3306")
	shell.JSONFlag(c, &asJSON, ", with every fact")
	c.Flags().StringVar(&since, "since", "", "show what happened since plumb stack --json wrote `FILE`")
	c.MarkFlagsMutuallyExclusive("since", "only")
	return c
}

// stackSince prints what happened to a host since a stack of it was written.
func (a *app) stackSince(file string, now *stack.Stack, cat *catalog.Catalog, asJSON bool) error {
	var before *stack.Stack
	text, err := shell.ReadFile(file, nil, shell.MostFile)
	if err == nil {
		before, err = stackview.Parse(text)
	}
	if err != nil {
		return hint.With(fmt.Errorf("read %s: %w", file, err), "plumb stack --json > FILE writes such a file")
	}
	d, err := stack.Since(before, now, cat)
	if err != nil {
		return fmt.Errorf("compare this host with %s: %w", file, err)
	}
	return a.Answer(asJSON, stackview.SinceDocument(d, shell.Version()), stackview.Since(d, now, cat, shell.Screen(a.Out)))
}

// onlyServers checks that --only of plumb stack names servers, as nothing else can be drawn alone.
func onlyServers(only []string) error {
	engines := product.Kinds()
	for _, o := range only {
		if kind, _, _ := strings.Cut(o, ":"); !slices.Contains(engines, kind) {
			return hint.Usage(fmt.Sprintf("--only %s is not a server", o), "use "+strings.Join(engines, ", ")+", or one of them such as mysql:3306")
		}
	}
	return nil
}
