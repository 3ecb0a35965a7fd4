package view

import _ "embed"

// checkSchema is the JSON Schema of CheckJSON. It is generated from the types
// of json.go and their comments: go test ./internal/view -update.
//
//go:embed check.v1.schema.json
var checkSchema []byte

// CheckSchema gives the JSON Schema of plumb check --json.
func CheckSchema() []byte { return checkSchema }

// loadSchema is the JSON Schema of LoadJSON, generated likewise.
//
//go:embed load.v1.schema.json
var loadSchema []byte

// LoadSchema gives the JSON Schema of plumb load --json.
func LoadSchema() []byte { return loadSchema }
