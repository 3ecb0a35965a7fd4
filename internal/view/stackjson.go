package view

import "plumb/internal/stack"

// StackJSON is the document of plumb stack --json: every fact of one host.
type StackJSON struct {
	Plumb   int          `json:"plumb"` // JSONVersion
	Kind    string       `json:"kind"`  // "stack"
	Version string       `json:"version"`
	Stack   *stack.Stack `json:"stack"`
}

// StackDocument gives a stack as JSON v1.
func StackDocument(s *stack.Stack, version string) StackJSON {
	whole := *s
	whole.Things, whole.Roles, whole.Gaps = notNil(s.Things), notNil(s.Roles), notNil(s.Gaps)
	return StackJSON{Plumb: JSONVersion, Kind: "stack", Version: version, Stack: &whole}
}
