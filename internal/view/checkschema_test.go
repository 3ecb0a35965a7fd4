package view

import (
	"testing"

	"plumb/internal/check"
	"plumb/internal/stack"
)

func TestCheckDocumentFitsItsSchema(t *testing.T) {
	schema := compileSchema(t, Schema("check"))
	for name, r := range map[string]check.Report{
		"findings": testReport(zfsHost()),
		"healthy":  quietReport(lvmHost()),
		"nothing":  quietReport(&stack.Stack{}),
	} {
		t.Run(name, func(t *testing.T) {
			b, err := JSON(CheckDocument(r))
			if err != nil {
				t.Fatal(err)
			}
			validate(t, schema, b)
			if name == "findings" {
				golden(t, "check.json", string(b))
			}
		})
	}
}
