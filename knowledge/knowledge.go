// Package knowledge holds what Plumb knows, as data: facts, knobs and rules
// in YAML, what our own experiments showed about the rules, and which real
// hosts the rules have met. README.md here describes the forms. It is the only
// Go file of the tree and holds no logic.
package knowledge

import "embed"

// FS is the tree: facts/*.yaml, knobs/*.yaml, samples/*.yaml, windows/*.yaml, metrics/*.yaml,
// rules/*/*.yaml, verdicts/*/*.yaml, clouds/*.yaml, measured.yaml, coverage.yaml.
//
//go:embed clouds facts knobs metrics samples windows rules verdicts measured.yaml coverage.yaml
var FS embed.FS
