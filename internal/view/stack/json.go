package stack

import (
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
