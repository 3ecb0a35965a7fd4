package lab

import (
	"testing"

	"plumb/internal/view/viewtest"
)

func TestSampleIsTheSameEachTime(t *testing.T) {
	if a, b := viewtest.SampleReport(8), viewtest.SampleReport(8); a.Arms[1].Metric.Value != b.Arms[1].Metric.Value {
		t.Error("the sample varies")
	}
}
