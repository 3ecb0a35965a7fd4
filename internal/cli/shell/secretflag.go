package shell

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"plumb/internal/engine/dsn"
	"plumb/internal/product"
)

// FromEnvironment is the environment variable with the data source name for commands that get none as a flag:
// every user of the machine can read the password in a command line.
const FromEnvironment = "PLUMB_DSN"

// DSNUsage ends the usage of every flag whose value may hold a password.
const DSNUsage = "@FILE or - reads it from a file or standard input, which keeps it out of ps"

// secretFlag is a flag whose value may hold a password, and so need not be on the
// command line: @FILE stands for the first line of a file, - for that of standard
// input.
type secretFlag struct {
	into *string
	c    *cobra.Command
}

// SecretVar adds a flag whose value may hold a password.
func SecretVar(c *cobra.Command, into *string, name, usual, usage string) {
	*into = usual
	c.Flags().Var(&secretFlag{into, c}, name, usage+"; "+DSNUsage)
}

// String implements pflag.Value.
func (k *secretFlag) String() string {
	if k.into == nil {
		return ""
	}
	return *k.into
}

// Type implements pflag.Value.
func (k *secretFlag) Type() string { return "string" }

// Set implements pflag.Value.
func (k *secretFlag) Set(text string) (err error) {
	switch file, isFile := strings.CutPrefix(text, "@"); {
	case text == "-":
		text, err = lineOf(k.c.InOrStdin())
	case isFile && !strings.Contains(file, "("): // @unix(/path)/ is a data source name without a user
		text, err = lineOfFile(file)
	}
	*k.into = text
	return err
}

func lineOfFile(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return lineOf(f)
}

// lineOf reads the first line, and no byte of the next, which may be
// the answer to a question.
func lineOf(r io.Reader) (string, error) {
	const most = 64 << 10
	var line strings.Builder
	for b := make([]byte, 1); line.Len() < most; {
		n, err := r.Read(b)
		if n > 0 && b[0] == '\n' {
			break
		}
		line.Write(b[:n])
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", err
		}
	}
	text := strings.TrimSpace(line.String())
	if text == "" || strings.ContainsRune(text, 0) {
		return "", errors.New("its first line is not a data source name")
	}
	return text, nil
}

// OrEnvironment returns the data source name of the command line, or else that
// of the environment.
func OrEnvironment(name string) string { return cmp.Or(name, os.Getenv(FromEnvironment)) }

// WarnUnverified says on standard error if the connection to the server does not verify who answers.
func (s *Shell) WarnUnverified(g dsn.Given) {
	if g.Engine == "" || g.Verified() {
		return
	}
	fmt.Fprintf(s.Err, "note: who answers at %s is not verified: whoever is on the way there could read and answer in its place; %s in the data source name verifies it\n",
		g.At.Address, product.Of(g.Engine).Verify)
}
