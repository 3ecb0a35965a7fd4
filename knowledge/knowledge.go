// Package knowledge holds what Plumb knows, as data: facts, knobs and rules
// in YAML. README.md here describes the three forms. It is the only Go file
// of the tree and holds no logic.
package knowledge

import "embed"

// FS is the tree: facts/*.yaml, knobs/*.yaml, rules/*/*.yaml.
//
//go:embed facts knobs rules
var FS embed.FS
