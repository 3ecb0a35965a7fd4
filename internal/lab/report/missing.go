package report

import (
	"slices"

	"plumb/internal/lab/experiment"
)

// Missing gives the trials that the block at hand lacks, in their order. Of
// a block that is carried out together and lacks some it gives all: arms are
// compared with those that they took turns with.
func Missing(x experiment.Experiment, records []experiment.Record) (lacking []experiment.Trial) {
	t := tabulate(x, records)
	block, _ := t.open()
	wanted := slices.DeleteFunc(experiment.Order(x, block), func(trial experiment.Trial) bool { return !t.runs(trial.Arm, block) })
	for _, trial := range wanted {
		settled := slices.ContainsFunc(t.records, func(r experiment.Record) bool {
			return r.Arm == trial.Arm && r.Block == block && !r.Has(experiment.MarkCut)
		})
		if !settled {
			lacking = append(lacking, trial)
		}
	}
	if x.Together() && len(lacking) > 0 {
		return wanted
	}
	return lacking
}
