package viewtest

import (
	"testing"

	"plumb/internal/strictyaml/schematest"
	"plumb/internal/view/page"
)

// Validate fails the test for a document that does not fit a schema.
func Validate(t *testing.T, schema, b []byte) {
	t.Helper()
	if err := schematest.JSON(schema, b); err != nil {
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
	Validate(t, schema, b)
}
