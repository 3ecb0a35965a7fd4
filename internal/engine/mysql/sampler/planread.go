package sampler

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"plumb/internal/series"
)

// readPlan reads a plan of EXPLAIN FORMAT=JSON. Of what it holds only names of
// tables and indexes and the server's numbers are taken, and never a condition:
// conditions have constants in them.
func readPlan(text []byte) ([]series.PlanStep, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	doc, err := readOrdered(d, 0)
	if err != nil {
		return nil, fmt.Errorf("read the server's plan: %w", err)
	}
	var p planWalk
	p.walk(doc, 0)
	if len(p.steps) == 0 {
		return nil, errors.New("the server's plan has no step")
	}
	return p.steps, nil
}

// pair is a member of an object, in the order in which it stands there.
type pair struct {
	key   string
	value any // string, float64, bool, nil, []pair, []any
}

func readOrdered(d *json.Decoder, depth int) (any, error) {
	if depth > series.DeepestPlan {
		return nil, errors.New("it is nested too deeply")
	}
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	open, nested := token.(json.Delim)
	if !nested {
		return token, nil
	}
	members, list := []pair{}, []any{}
	for d.More() {
		key := ""
		if open == '{' {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			key, _ = name.(string)
		}
		v, err := readOrdered(d, depth+1)
		if err != nil {
			return nil, err
		}
		members, list = append(members, pair{key, v}), append(list, v)
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if open == '{' {
		return members, nil
	}
	return list, nil
}

type planWalk struct{ steps []series.PlanStep }

// operations are the parts of a plan that are steps of their own, by their keys
// in MySQL and in MariaDB.
var operations = map[string]string{"filesort": "sorts", "temporary_table": "keeps rows in a temporary table", "union_result": "joins the rows of several selects",
	"materialized_from_subquery": "keeps the rows of a subquery", "materialized": "keeps the rows of a subquery", "block-nl-join": "joins block by block", "expression_cache": "keeps results of a subquery"}

func (p *planWalk) walk(v any, depth int) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			p.walk(x, depth)
		}
	case []pair:
		for _, m := range v {
			if m.key == "message" {
				p.add(series.PlanStep{Depth: depth, Does: text(m.value)})
			}
			inside, nested := m.value.([]pair)
			does, is := operations[m.key]
			switch {
			case m.key == "table" && nested:
				p.add(tableStep(inside, depth))
				p.walk(inside, depth+1)
			case is && nested:
				p.add(series.PlanStep{Depth: depth, Does: does, Mark: m.key == "filesort" || m.key == "temporary_table"})
				p.walk(inside, depth+1)
			case nested && truth(inside, "using_filesort"):
				p.add(series.PlanStep{Depth: depth, Does: "sorts", Mark: true})
				p.walk(inside, depth+1)
			case nested && truth(inside, "using_temporary_table"):
				p.add(series.PlanStep{Depth: depth, Does: operations["temporary_table"], Mark: true})
				p.walk(inside, depth+1)
			default:
				p.walk(m.value, depth)
			}
		}
	}
}

func (p *planWalk) add(s series.PlanStep) {
	if s.Does != "" && len(p.steps) < series.MostPlanSteps {
		p.steps = append(p.steps, s)
	}
}

// tableStep says how one table is read.
func tableStep(table []pair, depth int) series.PlanStep {
	s := series.PlanStep{Depth: depth, Rows: number(table, "rows", "rows_examined_per_scan"), Cost: number(table, "cost")}
	if info, ok := member(table, "cost_info").([]pair); ok {
		s.Cost = number(info, "prefix_cost")
	}
	name, key := text(member(table, "table_name")), text(member(table, "key"))
	var parts []string
	if all, ok := member(table, "used_key_parts").([]any); ok {
		for _, x := range all {
			parts = append(parts, text(x))
		}
	}
	index := "index " + key
	if len(parts) > 0 {
		index += " (" + strings.Join(parts, ", ") + ")"
	}
	switch kind := text(member(table, "access_type")); {
	case name == "":
		s.Does = ""
	case kind == "ALL":
		s.Does, s.Mark = "reads all rows of "+name, true
	case kind == "index":
		s.Does, s.Mark = "reads the whole of "+index+" of "+name, true
	case kind == "range":
		s.Does = "reads a range of " + index + " of " + name
	case kind == "":
		s.Does = name
	case key != "":
		s.Does = "looks up " + name + " by " + index + ", " + kind
	default:
		s.Does = "reads " + name + ", " + kind
	}
	if s.Does != "" && truth(table, "using_index") {
		s.Does += ", in the index alone"
	}
	return s
}

func member(object []pair, key string) any {
	for _, m := range object {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

func text(v any) string { s, _ := v.(string); return s }

func truth(object []pair, key string) bool { b, _ := member(object, key).(bool); return b }

// number gives the first of some members that is a number, or a text that is one.
func number(object []pair, keys ...string) *float64 {
	for _, key := range keys {
		switch v := member(object, key).(type) {
		case float64:
			return &v
		case string:
			if n, err := strconv.ParseFloat(v, 64); err == nil {
				return &n
			}
		}
	}
	return nil
}
