package check

import (
	"testing"

	"plumb/internal/check"
	"plumb/internal/stack"
	"plumb/internal/view/page"
	"plumb/internal/view/schema"
	"plumb/internal/view/viewtest"
)

func TestCheckDocumentFitsItsSchema(t *testing.T) {
	schema := schema.Of("check")
	for name, r := range map[string]check.Report{
		"findings": viewtest.TestReport(viewtest.ZfsHost()),
		"healthy":  viewtest.QuietReport(viewtest.LvmHost()),
		"nothing":  viewtest.QuietReport(&stack.Stack{}),
	} {
		t.Run(name, func(t *testing.T) {
			b, err := page.JSON(Document(r))
			if err != nil {
				t.Fatal(err)
			}
			viewtest.Validate(t, schema, b)
			if name == "findings" {
				viewtest.Golden(t, "check.json", string(b))
			}
		})
	}
}
