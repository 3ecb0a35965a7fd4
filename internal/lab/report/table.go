package report

import (
	"cmp"
	"maps"
	"slices"

	"plumb/internal/lab/experiment"
)

// table holds the records of an experiment by arm and block.
type table struct {
	x       experiment.Experiment
	records []experiment.Record // in the order in which they ran
	valid   map[string]map[int]*experiment.Record
}

func tabulate(x experiment.Experiment, records []experiment.Record) *table {
	t := &table{x: x, valid: map[string]map[int]*experiment.Record{}}
	for _, r := range records {
		if slices.ContainsFunc(x.Arms, func(a experiment.Arm) bool { return a.Name == r.Arm }) {
			t.records = append(t.records, r)
		}
	}
	slices.SortStableFunc(t.records, func(a, b experiment.Record) int {
		return cmp.Or(a.Began.Compare(b.Began), cmp.Compare(a.Block, b.Block), cmp.Compare(a.Position, b.Position),
			cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(a.ID, b.ID))
	})
	for _, a := range x.Arms {
		t.valid[a.Name] = map[int]*experiment.Record{}
	}
	for i := range t.records {
		r := &t.records[i]
		if r.Valid() && (t.at(r.Arm, r.Block) == nil || r.Attempt >= t.at(r.Arm, r.Block).Attempt) {
			t.valid[r.Arm][r.Block] = r
		}
	}
	return t
}

// at gives the trial that counts, or nil.
func (t *table) at(arm string, block int) *experiment.Record { return t.valid[arm][block] }

// trials gives the trials of an arm that count, by block.
func (t *table) trials(arm string) (all []*experiment.Record) {
	for _, block := range slices.Sorted(maps.Keys(t.valid[arm])) {
		all = append(all, t.valid[arm][block])
	}
	return all
}

// failedIn gives the block in which an arm was given up, and why: the first
// time that it was tried, or the second time that it failed. It is not tried
// again after that. One failure among trials that ran may be chance.
func (t *table) failedIn(arm string) (block int, why string) {
	ran, failed := false, false
	for _, r := range t.records {
		switch {
		case r.Arm != arm || r.Has(experiment.MarkCut):
		case !r.Has(experiment.MarkFailed):
			ran = true
		case ran && !failed:
			failed = true
		default:
			return r.Block, r.Why(experiment.MarkFailed)
		}
	}
	return 0, ""
}

// runs tells whether an arm is tried in a block.
func (t *table) runs(arm string, block int) bool {
	failed, _ := t.failedIn(arm)
	return failed == 0 || block < failed
}

// broken tells that an arm never ran, and why.
func (t *table) broken(arm string) (why string) {
	for _, r := range t.records {
		if r.Arm == arm && !r.Has(experiment.MarkFailed) && !r.Has(experiment.MarkCut) {
			return ""
		}
	}
	_, why = t.failedIn(arm)
	return why
}

// done counts the blocks in which every arm that can run has a valid trial.
func (t *table) done() (n int) {
	for _, block := range t.blocks() {
		some, all := false, true
		for _, a := range t.x.Arms {
			some = some || t.at(a.Name, block) != nil
			all = all && (t.at(a.Name, block) != nil || !t.runs(a.Name, block))
		}
		if some && all {
			n++
		}
	}
	return n
}

// blocks gives the numbers of the blocks of which there are records, rising.
func (t *table) blocks() []int {
	all := map[int]bool{}
	for _, r := range t.records {
		all[r.Block] = true
	}
	return slices.Sorted(maps.Keys(all))
}
