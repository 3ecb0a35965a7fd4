package processes

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"plumb/internal/host"
)

// TestDescriptors: what this process has open last is found, also where one look lists only a part.
func TestDescriptors(t *testing.T) {
	name := ""
	for i := range 20 {
		name = filepath.Join(t.TempDir(), strconv.Itoa(i))
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
	}
	for _, most := range []int{100_000, 10} {
		l := host.NewLive(host.LiveOptions{GlobPaths: most})
		defer l.Close()
		links, err := Descriptors(t.Context(), l, strconv.Itoa(os.Getpid()))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, link := range links {
			to, err := l.Readlink(t.Context(), link)
			found = found || err == nil && to == name
		}
		if !found {
			t.Errorf("with %d paths at most, %s is not among %d links", most, name, len(links))
		}
	}
}
