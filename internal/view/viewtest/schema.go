package viewtest

import (
	"bytes"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"plumb/internal/view/page"
)

// Validate fails the test for a document that does not fit a schema.
func Validate(t *testing.T, schema *jsonschema.Schema, b []byte) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(doc); err != nil {
		t.Errorf("%v\n%s", err, b)
	}
}

// FitsSchema checks a document against its published schema.
func FitsSchema(t *testing.T, schema []byte, doc any) {
	t.Helper()
	b, err := page.JSON(doc)
	if err != nil {
		t.Fatal(err)
	}
	Validate(t, CompileSchema(t, schema), b)
}

// CompileSchema reads a schema.
func CompileSchema(t *testing.T, text []byte) *jsonschema.Schema {
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
