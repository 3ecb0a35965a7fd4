package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
	"plumb/internal/engine/dsn"
)

// TestDataSourceNamesCanBeKeptApart: every flag that may hold a password takes
// it from a file or from standard input, and every command that logs in to a
// server takes it from the environment.
func TestDataSourceNamesCanBeKeptApart(t *testing.T) {
	const dsn = "mysql://u:pw@db1.example.com/"
	file := filepath.Join(t.TempDir(), "dsn")
	must(t, os.WriteFile(file, []byte(dsn+"\nnot this\n"), 0o600))
	in := strings.NewReader(dsn + "\ny\n")
	a := &app{Shell: shell.Shell{In: in, Out: io.Discard, Err: io.Discard}}
	root := a.root()
	root.SetIn(in)
	flags := 0
	var each func(c *cobra.Command)
	each = func(c *cobra.Command) {
		for _, name := range []string{"dsn", "ledger"} {
			f := c.Flags().Lookup(name)
			if f == nil || !strings.Contains(f.Usage, "://") {
				continue
			}
			flags++
			if !strings.Contains(f.Usage, shell.DSNUsage) || name == "dsn" && !strings.Contains(f.Usage, "$"+shell.FromEnvironment) {
				t.Errorf("%s --%s does not say how it is kept apart: %s", c.CommandPath(), name, f.Usage)
			}
			for text, want := range map[string]string{"@" + file: dsn, dsn: dsn, "@unix(/s)/": "@unix(/s)/"} {
				if err := f.Value.Set(text); err != nil || f.Value.String() != want {
					t.Errorf("%s --%s %s: %q, %v", c.CommandPath(), name, text, f.Value, err)
				}
			}
			if err := f.Value.Set("@/no/such/file"); err == nil || strings.Contains(err.Error(), "pw@") {
				t.Errorf("%s --%s of a file that is not there: %v", c.CommandPath(), name, err)
			}
		}
		for _, sub := range c.Commands() {
			each(sub)
		}
	}
	each(root)
	if flags < 12 {
		t.Errorf("only %d flags were found", flags)
	}
	check, _, err := root.Find([]string{"check"})
	must(t, err)
	if err := check.Flags().Set("dsn", "-"); err != nil || check.Flags().Lookup("dsn").Value.String() != dsn {
		t.Errorf("from standard input: %v", err)
	}
	if rest, _ := io.ReadAll(in); string(rest) != "y\n" {
		t.Errorf("an answer is left to be read: %q", rest)
	}
	t.Setenv(shell.FromEnvironment, dsn)
	live, g, err := openLive(shell.Source{})
	if err != nil || g.At.Address != "db1.example.com:3306" {
		t.Errorf("from the environment: %+v, %v", g.At, err)
	}
	live.Close()
}

// TestUnverifiedServersAreNoted: who gave a password for a server over a network
// is told when nobody verifies that it is this server who answers.
func TestUnverifiedServersAreNoted(t *testing.T) {
	for name, noted := range map[string]bool{
		"":                                              false,
		"mysql://u:pw@db1/":                             true,
		"mysql://u:pw@db1/?tls=true":                    false,
		"mysql://u:pw@db1/?tls=skip-verify":             true,
		"mysql://u:pw@127.0.0.1/":                       false,
		"mysql://u:pw@/?socket=/run/s":                  false,
		"u:pw@tcp(db1:3306)/?tls=true":                  false,
		"postgres://u:pw@db1/":                          true,
		"postgres://u:pw@db1/?sslmode=require":          true,
		"postgres://u:pw@db1/?sslmode=verify-full":      false,
		"postgres://u:pw@/?host=/run":                   false,
		"mongodb://u:pw@db1/":                           true,
		"mongodb://u:pw@db1/?tls=true":                  false,
		"mongodb://u:pw@db1/?tls=true&tlsInsecure=true": true,
		"mongodb://u:pw@localhost/":                     false,
	} {
		g, err := dsn.Read(name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var said bytes.Buffer
		(&app{Shell: shell.Shell{Err: &said}}).WarnUnverified(g)
		if (said.Len() > 0) != noted || strings.Contains(said.String(), "pw") {
			t.Errorf("%s: %q", name, said.String())
		}
	}
}
