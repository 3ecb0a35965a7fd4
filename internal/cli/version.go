package cli

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"plumb/internal/view"
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
			_, err := fmt.Fprintln(a.out, "plumb "+programVersion())
			return err
		},
	}
}

// schema prints the JSON Schema of check --json.
func (a *app) schema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "print the JSON Schema of check --json",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := a.out.Write(view.CheckSchema())
			return err
		},
	}
}
