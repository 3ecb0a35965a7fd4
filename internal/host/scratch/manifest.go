package scratch

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
)

const (
	longestManifest = 16 << 20
	maker           = "plumb load"
)

// Manifest lists the test files of a directory and what they hold.
type Manifest struct {
	Maker        string  `json:"maker"` // "plumb load"
	Purpose      string  `json:"purpose"`
	Seed         uint64  `json:"seed"`
	Block        int64   `json:"blockBytes"`
	Size         int64   `json:"fileBytes"` // of each file
	Compressible float64 `json:"compressible"`
	Filled       bool    `json:"filled"` // every file has its size and content
	Runs         uint64  `json:"runs"`   // that wrote: their contents differ
	Files        []Entry `json:"files"`
}

// Entry is one test file.
type Entry struct {
	Name  string `json:"name"`
	Inode uint64 `json:"inode"`
}

func (m Manifest) encode() []byte {
	m.Maker = maker
	data, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		panic(err) // numbers and names always encode
	}
	return append(data, '\n')
}

// nameForm is the form of every test file's name: no path, nothing hidden.
var nameForm = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,60}(\.[0-9]{1,9}|\.json)?$`)

func plainName(name string) bool { return nameForm.MatchString(name) }

// parseManifest reads a list of test files. One that was not written by Plumb
// is [ErrForeign].
func parseManifest(data []byte) (Manifest, error) {
	var m Manifest
	if len(data) > longestManifest {
		return m, errors.New("too long for a list of test files")
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("%w: %w", err, ErrForeign)
	}
	if m.Maker != maker {
		return m, ErrForeign
	}
	if m.Block < 0 || m.Size < 0 || !(m.Compressible >= 0 && m.Compressible <= 1) {
		return m, fmt.Errorf("sizes make no sense: %w", ErrForeign)
	}
	for _, e := range m.Files {
		if !plainName(e.Name) || e.Name == Load || e.Name == Fsync || e.Inode == 0 {
			return m, fmt.Errorf("%q is not the name of a test file: %w", e.Name, ErrForeign)
		}
	}
	return m, nil
}
