// Plumb reads a database host from the kernel to the database and says what
// is out of line across the layers.
package main

import (
	"os"

	"plumb/internal/cli"
)

func main() { os.Exit(cli.Program(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
