// Standin answers what packing asks of plumb. It is small, so that packing it twice takes a moment, and has modules of
// others in it, which the packages name.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/mod/semver"
	"golang.org/x/term"
)

func main() {
	fmt.Println(semver.IsValid("v1.0.0"), term.IsTerminal(-1), os.Args[1:])
	if os.Args[1] != "man" {
		return
	}
	for _, page := range []string{"plumb.1", "plumb-check.1", "plumb-fix.1"} {
		if err := os.WriteFile(filepath.Join(os.Args[2], page), []byte(page+"\n"), 0o644); err != nil {
			panic(err)
		}
	}
}
