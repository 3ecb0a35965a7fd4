package tpcc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/load"
	"plumb/internal/load/fill"
	"plumb/internal/product"
)

// CheckOptions say what is checked.
type CheckOptions struct {
	Fresh    bool                 // no transaction has run since the load: condition 11 holds only then
	Only     []int                // numbers of conditions; nil: all
	Progress func(done Condition) // called after each; nil: not
}

// CheckReport is what a check found.
type CheckReport struct {
	Conditions []Condition // by set of tables, then by number
	Elapsed    time.Duration
}

// Condition is one rule of consistency (TPC-C 3.3.2, numbers 1 to 12; higher
// numbers are ours), and how the data keep it.
type Condition struct {
	Number     int
	Set        int           // of the tables, from 1; 0 when there is only one
	Rule       string        // what must hold
	Skipped    string        // why it was not checked; "" when it was
	Group      string        // what is counted: "district"
	Violations int64         // violating groups
	Examples   []string      // of them, at most ten
	Took       time.Duration // with the examples
}

// Holds tells whether a condition was checked and holds.
func (c Condition) Holds() bool { return c.Skipped == "" && c.Violations == 0 }

// Broken gives the conditions that do not hold.
func (r CheckReport) Broken() []Condition {
	var broken []Condition
	for _, c := range r.Conditions {
		if c.Skipped == "" && c.Violations > 0 {
			broken = append(broken, c)
		}
	}
	return broken
}

// Check checks the consistency conditions, all within one snapshot. An error
// means that they could not be checked; conditions that do not hold are none.
func Check(ctx context.Context, c Config, o CheckOptions) (CheckReport, error) {
	var r CheckReport
	began := time.Now()
	list, err := wanted(o.Only)
	if err != nil {
		return r, err
	}
	a, state, err := fill.Look(ctx, c.Server, workload, 0, 0)
	if err != nil {
		return r, err
	}
	defer a.Close()
	if err := c.ours(state); err != nil {
		return r, err
	}
	if err := a.Exec(ctx, product.DialectOf(c.Server.Engine()).Snapshot...); err != nil {
		return r, err
	}
	for set := 1; set <= c.sets(); set++ {
		for _, one := range list {
			found, err := check(ctx, a, c, one, o, set)
			if err != nil {
				return r, explained(err, one)
			}
			r.Conditions = append(r.Conditions, found)
			if o.Progress != nil {
				o.Progress(found)
			}
		}
	}
	r.Elapsed = time.Since(began)
	return r, a.Exec(ctx, "COMMIT")
}

// wanted gives the rules of some numbers.
func wanted(only []int) ([]rule, error) {
	for _, n := range only {
		if !slices.ContainsFunc(rules(), func(r rule) bool { return r.number == n }) {
			return nil, hint.With(fmt.Errorf("there is no condition %d", n), fmt.Sprintf("they are numbered 1 to %d", len(rules())))
		}
	}
	var list []rule
	for _, r := range rules() {
		if only == nil || slices.Contains(only, r.number) {
			list = append(list, r)
		}
	}
	return list, nil
}

const prepareHint = "load tpcc prepare makes the tables"

// ours tells whether the tables are those that the configuration means. The
// seed does not matter here. In compat mode tables that sysbench-tpcc itself
// made are checked too.
func (c Config) ours(state fill.State) error {
	switch {
	case state.Settings == nil && c.Compat:
		return nil
	case state.Settings == nil:
		return hint.With(errors.New("there are no tables of tpcc in this database"), prepareHint)
	case !state.Complete:
		return hint.With(errors.New("the tables of tpcc are not completely loaded"), "load tpcc prepare continues where it ended")
	}
	matter := slices.DeleteFunc(settings(c), func(s load.Setting) bool { return s.Name == "seed" || s.Name == "generator" })
	return state.Matches(matter)
}

// explained adds what a person can do.
func explained(err error, r rule) error {
	wrapped := fmt.Errorf("check condition %d: %w", r.number, err)
	if load.NoTable(err) {
		return hint.With(wrapped, prepareHint)
	}
	return wrapped
}

func check(ctx context.Context, a load.Admin, c Config, r rule, o CheckOptions, set int) (out Condition, err error) {
	out = Condition{Number: r.number, Rule: r.says, Group: r.group, Skipped: r.skipped(c, o)}
	if c.sets() > 1 {
		out.Set = set
	}
	if out.Skipped != "" {
		return out, nil
	}
	began := time.Now()
	defer func() { out.Took = time.Since(began) }()
	step := c.Warehouses
	if r.ranges {
		step = max(1, (c.Warehouses+mostRanges-1)/mostRanges)
	}
	for w := int64(1); w <= c.Warehouses; w += step {
		from, to := w, w+step
		if w == 1 {
			from = 0
		}
		if to > c.Warehouses {
			to = 0
		}
		if err := out.ask(ctx, a, r, r.question(c, set, from, to)); err != nil {
			return out, err
		}
	}
	return out, nil
}

// mostRanges bounds how often tables are read that have no index for a range
// of warehouses.
const mostRanges = 16

// mostExamples of a condition.
const mostExamples = 10

// ask counts the violations of one question and adds examples.
func (c *Condition) ask(ctx context.Context, a load.Admin, r rule, question string) error {
	rows, err := a.Query(ctx, "SELECT COUNT(*) FROM ("+question+") v")
	if err != nil {
		return err
	}
	n, err := count(rows)
	if err != nil {
		return err
	}
	c.Violations += n
	room := mostExamples - len(c.Examples)
	if n == 0 || room == 0 {
		return nil
	}
	rows, err = a.Query(ctx, fmt.Sprintf("%s ORDER BY %s LIMIT %d", question, strings.Join(r.keys, ", "), room))
	for _, row := range rows.Values {
		c.Examples = append(c.Examples, r.example(row))
	}
	return err
}

// count reads the answer to a COUNT.
func count(rows host.Rows) (int64, error) {
	if len(rows.Values) != 1 {
		return 0, fmt.Errorf("a count gave %d rows", len(rows.Values))
	}
	return strconv.ParseInt(cell(rows.Values[0], 0), 10, 64)
}

func cell(row []*string, i int) string {
	if v := host.Cell(row, i); v != nil {
		return *v
	}
	return "NULL"
}

// example words a violating group: "warehouse 1, district 2: lines 3, o_ol_cnt 4".
func (r rule) example(row []*string) string {
	var where, what []string
	for i, k := range r.keys {
		if v := cell(row, i); v != "0" || i == 0 {
			where = append(where, strings.TrimSpace(keyNames[k]+" "+v))
		}
	}
	for i := 0; i < len(r.shows); i += 2 {
		what = append(what, r.shows[i]+" "+cell(row, len(r.keys)+i/2))
	}
	return strings.Join(where, ", ") + ": " + strings.Join(what, ", ")
}
