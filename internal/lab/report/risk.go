package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/lab/experiment"
	"plumb/internal/stack"
)

// AddRisks says of each arm which of the settings that were in force are less
// than safe: a report that calls an arm better must say what it is paid with.
// What all arms share distinguishes none and is left out.
func AddRisks(r *Report, cat *catalog.Catalog) {
	for i, arm := range r.Experiment.Arms {
		if i >= len(r.Arms) || arm.Setup.Server == nil {
			continue
		}
		r.Arms[i].Risks = risks(cat.Knobs(experiment.KindOf(arm.Setup.Server.Engine)), inForce(r.Records, arm))
	}
	dropShared(r.Arms)
}

// dropShared takes away what every arm has, where there are arms to compare.
func dropShared(arms []ArmResult) {
	if len(arms) < 2 {
		return
	}
	shared := slices.Clone(arms[0].Risks)
	for _, arm := range arms[1:] {
		shared = slices.DeleteFunc(shared, func(risk string) bool { return !slices.Contains(arm.Risks, risk) })
	}
	for i := range arms {
		arms[i].Risks = slices.DeleteFunc(arms[i].Risks, func(risk string) bool { return slices.Contains(shared, risk) })
	}
}

// inForce gives the settings as a server of the arm told them, defaults too.
func inForce(records []experiment.Record, arm experiment.Arm) map[string]string {
	for _, rec := range records {
		if rec.Arm == arm.Name && len(rec.Effective) > 0 {
			return rec.Effective
		}
	}
	return arm.Setup.Server.Settings
}

// risks lists the settings whose value is less than safe, sorted by name.
// The binary log's count only when there is one.
func risks(knobs map[string]*catalog.Fact, values map[string]string) (all []string) {
	for _, name := range slices.Sorted(maps.Keys(knobs)) {
		value, known := values[name]
		if !known || name == "sync_binlog" && strings.EqualFold(values["log_bin"], "off") {
			continue
		}
		if class := knobs[name].Durability(stack.Text(value)); class != catalog.Safe {
			all = append(all, fmt.Sprintf("%s = %s: %s", name, value, class))
		}
	}
	return all
}
