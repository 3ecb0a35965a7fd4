package report

import (
	"slices"

	"plumb/internal/lab/experiment"
)

// Missing gives the trials that the block at hand lacks, in their order.
func Missing(x experiment.Experiment, records []experiment.Record) (lacking []experiment.Trial) {
	t := tabulate(x, records)
	block, _ := t.open()
	for _, trial := range experiment.Order(x, block) {
		settled := slices.ContainsFunc(t.records, func(r experiment.Record) bool {
			return r.Arm == trial.Arm && r.Block == block && !r.Has(experiment.MarkCut)
		})
		if !settled && t.runs(trial.Arm, block) {
			lacking = append(lacking, trial)
		}
	}
	return lacking
}
