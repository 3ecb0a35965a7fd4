package program

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"plumb/test/reaper"
)

// Main is the TestMain of a package: it builds plumb, runs the tests, closes
// what they shared and exits.
func Main(m *testing.M, p *Program, closes ...func() error) { os.Exit(run(m, p, closes)) }

func run(m *testing.M, p *Program, closes []func() error) (code int) {
	dir, err := os.MkdirTemp("", "plumb-test-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = errors.Join(reaper.Mind(dir), os.Chmod(dir, 0o755)) // the servers' user must reach it
	}
	if err == nil {
		*p, err = Build(dir)
	}
	if err == nil {
		code = m.Run()
		for _, f := range closes {
			err = errors.Join(err, f())
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
