package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/lab/experiment"
	"plumb/internal/provision/spec"
	"plumb/internal/view/schema"
)

func (a *app) version() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version of this program",
		Long: `Version prints the release, or the commit if the binary was not built from a
release.

` + shell.ReadExits,
		Example: "  plumb version",
		Args:    shell.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return a.Print("plumb " + shell.Version() + "\n")
		},
	}
}

// written returns the schemas of the documents that people write.
func written() map[string][]byte {
	return map[string][]byte{"experiment": experiment.Schema(), "provision-spec": spec.Schema()}
}

// documents lists the documents that have a schema.
func documents() []string {
	all := append(schema.Documents(), slices.Collect(maps.Keys(written()))...)
	slices.Sort(all)
	return all
}

// schema prints the JSON Schema of a document.
func (a *app) schema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema [DOCUMENT]",
		Short: "print the JSON Schema of check --json, or of another document",
		Long:  "Schema prints the JSON Schema of a document that a command prints with --json,\nor of the files that plumb lab run and plumb provision read. Without a name it\nis that of check. The documents:\n  " + strings.Join(documents(), "\n  ") + "\n\n" + shell.ReadExits,
		Example: `  plumb schema check
  plumb schema provision-spec > spec.schema.json`,
		ValidArgs: documents(),
		Args:      shell.AtMostOneArg("document"),
		RunE: func(_ *cobra.Command, args []string) error {
			name := strings.Join(append(args, "check")[:1], "")
			text := schema.Of(name)
			if of, ok := written()[name]; ok {
				text = of
			}
			if text == nil {
				return hint.Usage(fmt.Sprintf("there is no document %q", name), cmp.Or(hint.Meant(name, documents()), "use "+hint.OneOf(documents())))
			}
			_, err := a.Out.Write(text)
			return err
		},
	}
}
