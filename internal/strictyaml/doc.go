// Package strictyaml reads YAML that people write by hand, strictly: every mistake
// is reported with file, line, column and what was probably meant, and reading
// goes on, so that one run shows all mistakes of a file.
//
// It knows nothing of what the files say. It resolves no anchors and no YAML
// types: a scalar is its source text, so ON stays ON and 8.0 stays 8.0.
package strictyaml
