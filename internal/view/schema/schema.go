package schema

import (
	"embed"
	"slices"
	"strings"
)

// schemas are the JSON Schemas of the documents. They are generated from the
// types of the documents and their comments: go test ./internal/view/schema -update.
//
//go:embed *.v1.schema.json
var schemas embed.FS

const schemaEnding = ".v1.schema.json"

// Of gives the JSON Schema of a document; nil when there is none of that
// name.
func Of(document string) []byte {
	b, err := schemas.ReadFile(document + schemaEnding)
	if err != nil {
		return nil
	}
	return b
}

// Documents lists the documents that have a schema.
func Documents() []string {
	var names []string
	entries, _ := schemas.ReadDir(".") // it is in the program
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), schemaEnding))
	}
	slices.Sort(names)
	return names
}
