package fix

import (
	"context"
	"errors"
	"testing"

	"plumb/internal/change"
	"plumb/internal/stack"
)

// A step that nobody could look at again does not count as seen in force.
func TestStepsThatCannotBeReadBack(t *testing.T) {
	x := &Fix{Look: func(context.Context) (*stack.Stack, error) { return nil, errors.New("interrupted") }}
	done := change.StepOutcome{Done: true}
	done.Knob = stack.Knob{Of: stack.Ref{Kind: "mysql", Name: "3306"}, Name: "sync_binlog"}
	after := x.lookAgain(t.Context(), []change.StepOutcome{done})
	if len(after) != 1 || after[0].Knob != done.Knob || after[0].Known {
		t.Errorf("got %+v", after)
	}
}
