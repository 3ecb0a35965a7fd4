package experiment

import _ "embed"

//go:embed experiment.v1.schema.json
var schema string

// Schema gives the JSON Schema of experiment files, for editors. [Parse] is
// stricter: it also knows what fits together.
func Schema() []byte { return []byte(schema) }
