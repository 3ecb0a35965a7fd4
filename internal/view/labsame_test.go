package view

import "testing"

func TestSampleIsTheSameEachTime(t *testing.T) {
	if a, b := sampleReport(8), sampleReport(8); a.Arms[1].Metric.Value != b.Arms[1].Metric.Value {
		t.Error("the sample varies")
	}
}
