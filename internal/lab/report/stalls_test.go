package report

import (
	"slices"
	"testing"

	"plumb/internal/lab/experiment"
)

func TestStallsHideInAClosedLoop(t *testing.T) {
	r := Report{
		Experiment: experiment.Experiment{Arms: []experiment.Arm{{Name: "a"}, {Name: "b"}, {Name: "due", Setup: experiment.Setup{Load: experiment.Load{Rate: 100}}}}},
		Arms:       []ArmResult{{Name: "a", Stalls: 838}, {Name: "b", Stalls: 3}, {Name: "due", Stalls: 838}},
	}
	if got := r.HiddenStalls(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("got %v", got)
	}
}
