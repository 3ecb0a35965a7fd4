package view

import (
	"bytes"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func validate(t *testing.T, schema *jsonschema.Schema, b []byte) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(doc); err != nil {
		t.Errorf("%v\n%s", err, b)
	}
}

// fitsSchema checks a document against its published schema.
func fitsSchema(t *testing.T, schema []byte, doc any) {
	t.Helper()
	b, err := JSON(doc)
	if err != nil {
		t.Fatal(err)
	}
	validate(t, compileSchema(t, schema), b)
}

func compileSchema(t *testing.T, text []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("check.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("check.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}
