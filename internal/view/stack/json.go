package stack

import (
	"encoding/json"
	"errors"
	"fmt"

	"plumb/internal/stack"
	"plumb/internal/view/page"
)

// StackJSON is the document of plumb stack --json: every fact of one host.
type StackJSON struct {
	Plumb   int          `json:"plumb"` // JSONVersion
	Kind    string       `json:"kind"`  // "stack"
	Version string       `json:"version"`
	Stack   *stack.Stack `json:"stack"`
}

// Document gives a stack as JSON v1.
func Document(s *stack.Stack, version string) StackJSON {
	whole := *s
	whole.Things, whole.Roles, whole.Gaps = page.NotNil(s.Things), page.NotNil(s.Roles), page.NotNil(s.Gaps)
	return StackJSON{Plumb: page.JSONVersion, Kind: "stack", Version: version, Stack: &whole}
}

// Parse reads a document of plumb stack --json back. One of a later version is
// refused.
func Parse(text []byte) (*stack.Stack, error) {
	var doc StackJSON
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("it is not a document of plumb stack --json: %w", err)
	}
	switch {
	case doc.Kind != "stack" || doc.Stack == nil:
		return nil, errors.New("it is not a document of plumb stack --json")
	case doc.Plumb != page.JSONVersion:
		return nil, fmt.Errorf("it is of version %d, and this Plumb knows version %d", doc.Plumb, page.JSONVersion)
	}
	return doc.Stack, nil
}
