// Command apart runs the program that it is given with mounts of its own, and among them a zfs-fuse of its own, of which a machine
// has one for each view of its mounts. So report starts the tests of several packages that all want it (go test -exec). Where no
// mounts of its own can be had, it runs the program as it is: such tests then wait for each other.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"plumb/test/namespace"
)

func main() {
	err := errors.New("it wants a program and its arguments")
	if len(os.Args) > 1 {
		err = become(os.Args[1:])
	}
	fmt.Fprintln(os.Stderr, "apart:", err)
	os.Exit(2)
}

// become turns this process into the program: signals of go test reach it.
func become(argv []string) error {
	env := os.Environ()
	if within := inside("true"); exec.Command(within[0], within[1:]...).Run() == nil {
		argv, env = inside(argv...), append(env, namespace.EnvApart+"=1")
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	return syscall.Exec(path, argv, env)
}

// inside is the command that runs another one with mounts of its own.
func inside(argv ...string) []string {
	return append([]string{"unshare", "--mount", "--propagation", "private", "sh", "-c", namespace.LetGo("") + namespace.OwnZFS + `exec "$@"`, "sh"}, argv...)
}
