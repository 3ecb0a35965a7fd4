package cli

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"plumb/internal/hint"
	"plumb/internal/lab/experiment"
	"plumb/internal/view/schema"
)

// version is the version of this program: what the build recorded, never a
// constant that somebody forgets to change.
func programVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	rev, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			rev = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+changes"
		}
	}
	if rev == "" {
		return "devel"
	}
	return "devel-" + rev + dirty
}

func (a *app) version() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version of this program",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			return a.print("plumb " + programVersion() + "\n")
		},
	}
}

// experimentDocument is the one document that people write.
const experimentDocument = "experiment"

// documents lists what has a schema.
func documents() []string {
	all := append(schema.Documents(), experimentDocument)
	slices.Sort(all)
	return all
}

// schema prints the JSON Schema of a document.
func (a *app) schema() *cobra.Command {
	return &cobra.Command{
		Use:       "schema [DOCUMENT]",
		Short:     "print the JSON Schema of check --json, or of another document",
		Long:      "Schema prints the JSON Schema of a document that a command prints with --json, or\nof the experiment files that plumb lab run reads. Without a name it is that of\ncheck. The documents:\n  " + strings.Join(documents(), "\n  "),
		ValidArgs: documents(),
		Args:      atMostOneArg("document"),
		RunE: func(_ *cobra.Command, args []string) error {
			name := strings.Join(append(args, "check")[:1], "")
			text := schema.Of(name)
			if name == experimentDocument {
				text = experiment.Schema()
			}
			if text == nil {
				return hint.Usage(fmt.Sprintf("there is no document %q", name), cmp.Or(hint.Meant(name, documents()), "want "+hint.OneOf(documents())))
			}
			_, err := a.out.Write(text)
			return err
		},
	}
}
