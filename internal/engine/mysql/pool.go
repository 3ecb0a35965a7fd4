package mysql

import (
	"fmt"
	"strconv"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/host/memory"
	"plumb/internal/units"
)

// The buffer pool is resized in steps, so that a machine that gets short of
// memory stops at the last one that went well.
const (
	poolSteps    = 8
	leastStep    = 128 << 20 // bytes
	leastLeft    = 512 << 20 // bytes of MemAvailable that must be left
	poolPatience = 120_000   // milliseconds for one step
)

// pool is what is known of the buffer pool's size, in bytes.
type pool struct {
	now, to int64
	unit    int64 // it has whole multiples of this
	most    int64 // it cannot grow beyond this while the server runs; 0: no such bound
}

// poolSteps adds the steps that resize the buffer pool while the server runs.
func (a *alteration) poolSteps(r *change.Recipe) error {
	p, err := a.pool()
	if err != nil {
		return err
	}
	a.to = strconv.FormatInt(p.to, 10)
	guard, err := a.guard(p)
	if err != nil {
		return err
	}
	if p.most > 0 && p.to > p.most {
		a.notes = append(a.notes, fmt.Sprintf("innodb_buffer_pool_size_max is %s: beyond it the pool grows only at the next start", units.Bytes(p.most)))
		r.Effect = catalog.Restart
		r.Waits, r.Restart = a.restart()
		return nil
	}
	sizes := p.sizes()
	for i, size := range sizes {
		s := a.global(strconv.FormatInt(size, 10))
		for _, later := range sizes[i+1:] {
			s.Beyond = append(s.Beyond, strconv.FormatInt(later, 10))
		}
		s.Inspect.Query, s.Patience, s.Guard = a.poolQuestion(), poolPatience, guard
		r.Acts = append(r.Acts, change.Act{Switch: s})
	}
	return nil
}

// pool reads the size and its unit: whole chunks in every instance, and on
// MariaDB since 10.11.12, 11.4.6 and 11.8.2 what it says itself.
func (a *alteration) pool() (pool, error) {
	n := func(name string) int64 { v, _ := a.thing.Int(name); return v }
	p := pool{now: n(a.name), unit: n("innodb_buffer_pool_chunk_size") * max(n("innodb_buffer_pool_instances"), 1), most: n("innodb_buffer_pool_size_max")}
	if p.most > 0 || p.unit == 0 {
		p.unit, _ = strconv.ParseInt(a.v.block, 10, 64)
	}
	p.unit = max(p.unit, 1<<20)
	to, ok := a.want.To.Int()
	if !ok || to < 0 {
		return p, &change.Refusal{Why: "the size must be a whole number of bytes"}
	}
	if p.to = (to + p.unit - 1) / p.unit * p.unit; p.to != to {
		a.notes = append(a.notes, fmt.Sprintf("the server takes whole steps of %s, so it becomes %s", units.Bytes(p.unit), units.Bytes(p.to)))
	}
	return p, nil
}

// sizes are the sizes on the way, the last one the one wanted.
func (p pool) sizes() []int64 {
	step := (p.to - p.now) / poolSteps
	sign := int64(1)
	if step < 0 {
		step, sign = -step, -1
	}
	step = (max(step, leastStep) + p.unit - 1) / p.unit * p.unit
	var out []int64
	for at := p.now + sign*step; sign*(p.to-at) > 0; at += sign * step {
		out = append(out, at/p.unit*p.unit)
	}
	return append(out, p.to)
}

// guard is what must be left of this machine's memory while the pool grows.
// Pages are taken as they fill, so what the growth will take in the end must
// be there from the beginning.
func (a *alteration) guard(p pool) (*change.Guard, error) {
	if p.to < p.now || a.in.process == nil {
		return nil, nil
	}
	available, known, err := memory.Available(a.ctx, a.h)
	if err != nil {
		return nil, fmt.Errorf("read how much memory is free: %w", err)
	}
	if grows := p.to - p.now; known && available < grows+leastLeft {
		return nil, &change.Refusal{Why: fmt.Sprintf("it would grow by %s, but only %s of memory are available, of which %s must stay free", units.Bytes(grows), units.Bytes(available), units.Bytes(leastLeft)),
			What: "choose a smaller size, or give other caches less first"}
	}
	return &change.Guard{MemAvailable: leastLeft, SwapIn: true}, nil
}

// poolQuestion asks for the size once it is not being changed any more.
func (a *alteration) poolQuestion() string {
	const done = "(s.VARIABLE_VALUE = '' OR s.VARIABLE_VALUE LIKE '%ompleted%' OR s.VARIABLE_VALUE LIKE '%did not change%')"
	if a.in.flavor == flavorMariaDB {
		return "SELECT CASE WHEN s.VARIABLE_NAME IS NULL OR " + done + " THEN v.GLOBAL_VALUE ELSE 'resizing' END FROM information_schema.SYSTEM_VARIABLES v " +
			"LEFT JOIN information_schema.GLOBAL_STATUS s ON s.VARIABLE_NAME = 'INNODB_BUFFER_POOL_RESIZE_STATUS' WHERE v.VARIABLE_NAME = 'INNODB_BUFFER_POOL_SIZE'"
	}
	return "SELECT CASE WHEN s.VARIABLE_NAME IS NULL OR " + done + " THEN v.VARIABLE_VALUE ELSE 'resizing' END FROM performance_schema.global_variables v " +
		"LEFT JOIN performance_schema.global_status s ON s.VARIABLE_NAME = 'Innodb_buffer_pool_resize_status' WHERE v.VARIABLE_NAME = 'innodb_buffer_pool_size'"
}
