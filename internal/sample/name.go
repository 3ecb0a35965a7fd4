package sample

import (
	"fmt"
	"hash/fnv"
)

// Named names a source after what it reads, so that one that reads more or less
// than before is another and takes its place.
func Named(what string, things ...string) string {
	sum := fnv.New32a()
	for _, t := range things {
		fmt.Fprintf(sum, "%q", t)
	}
	return fmt.Sprintf("%s (%08x)", what, sum.Sum32())
}
