package cli

import (
	"fmt"

	"plumb/internal/advise"
	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/view/page"
)

// writePlan writes a plan for plumb fix, replacing what is there.
func writePlan(name string, p advise.Plan) error {
	text, err := page.JSON(p)
	if err != nil {
		return err
	}
	if err := shell.WriteWhole(name, true, text); err != nil {
		return fmt.Errorf("write the plan to %s: %w", name, hint.Cause(err))
	}
	return nil
}
