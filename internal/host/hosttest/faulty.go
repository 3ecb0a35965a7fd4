package hosttest

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"plumb/internal/host"
)

// Fault is one thing that goes wrong on purpose, in a test.
type Fault struct {
	Op    string        // the call as on a tape ("file", "glob", "stat", "link", "statfs", "run", "query", also "replace", "remove", "append", "write", "do", "exec", "writable", "lock", "tidy", "make directory", "rename"); "" for any
	Name  string        // its arguments, joined by spaces; "*" stands for any text; "" for any
	Nth   int           // the call that fails, from 1; 0 for every one
	Delay time.Duration // first wait so long, or for the end of the context
	Err   error         // fail with this error
	Cut   int           // or give only so many bytes (rows, paths) and ErrTooLarge; 0 for no cut
}

// String describes the fault for a test's log.
func (f Fault) String() string {
	text := fmt.Sprintf("%s %s", cmp.Or(f.Op, "any call"), cmp.Or(f.Name, "*"))
	if f.Nth > 0 {
		text += fmt.Sprintf(" (call %d)", f.Nth)
	}
	if f.Delay > 0 {
		text += fmt.Sprintf(" waits %v", f.Delay)
	}
	if f.Cut > 0 {
		text += fmt.Sprintf(" is cut to %d", f.Cut)
	}
	if f.Err != nil {
		text += fmt.Sprintf(" fails: %v", f.Err)
	}
	return text
}

// Faulty passes calls on to another reader or doer, except where its plan
// says otherwise. It is for tests and safe for concurrent use.
type Faulty struct {
	host.Hooked

	mu     sync.Mutex
	faults []Fault
	seen   []int  // calls that matched, by fault
	fired  []bool // by fault
}

var _ host.Doer = (*Faulty)(nil)

// NewFaulty makes faults in front of r, which may be a Doer. Of several
// faults that match a call the first counts.
func NewFaulty(r host.Reader, faults ...Fault) *Faulty {
	f := &Faulty{faults: faults, seen: make([]int, len(faults)), fired: make([]bool, len(faults))}
	f.Behind, _ = r.(host.Doer)
	if f.Behind == nil {
		f.Behind = &host.Refusing{Reader: r, Refused: func(string) {}}
	}
	f.Around = func(ctx context.Context, c host.Call, do func() error) error {
		if _, err := f.fault(ctx, c.Op, c.Of...); err != nil {
			return err
		}
		return do()
	}
	return f
}

// Plan lists the faults, one a line.
func (f *Faulty) Plan() string {
	var b strings.Builder
	for _, fault := range f.faults {
		fmt.Fprintln(&b, fault)
	}
	return b.String()
}

// AllFired is nil once every fault has happened; else it names those that
// have not, because a test that never met its fault has tested nothing.
func (f *Faulty) AllFired() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var missing []string
	for i, fired := range f.fired {
		if !fired {
			missing = append(missing, f.faults[i].String())
		}
	}
	if missing != nil {
		return fmt.Errorf("did not happen: %s", strings.Join(missing, "; "))
	}
	return nil
}

// fault gives the fault of a call, after its delay.
func (f *Faulty) fault(ctx context.Context, op string, of ...string) (Fault, error) {
	fault := f.next(op, strings.Join(of, " "))
	if fault.Delay > 0 {
		timer := time.NewTimer(fault.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return fault, fmt.Errorf("%s %s: %w", op, strings.Join(of, " "), ctx.Err())
		}
	}
	if fault.Err != nil {
		return fault, fmt.Errorf("%s %s: %w", op, strings.Join(of, " "), fault.Err)
	}
	return fault, nil
}

func (f *Faulty) next(op, name string) Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	var hit Fault
	for i, fault := range f.faults {
		if (fault.Op != "" && fault.Op != op) || (fault.Name != "" && !wild(fault.Name, name)) {
			continue
		}
		f.seen[i]++
		if hit == (Fault{}) && (fault.Nth == 0 || fault.Nth == f.seen[i]) {
			f.fired[i] = true
			hit = fault
		}
	}
	return hit
}

// wild matches a pattern in which "*" stands for any text, slashes too.
func wild(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	rest, ok := strings.CutPrefix(name, parts[0])
	if !ok {
		return false
	}
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return strings.HasSuffix(rest, parts[last])
}

// cut shortens an answer.
func cut[T any](fault Fault, all []T, err error) ([]T, error) {
	if fault.Cut == 0 || err != nil || len(all) <= fault.Cut {
		return all, err
	}
	return all[:fault.Cut], host.ErrTooLarge
}

// ReadFile implements host.Reader.
func (f *Faulty) ReadFile(ctx context.Context, name string) ([]byte, error) {
	fault, err := f.fault(ctx, "file", name)
	if err != nil {
		return nil, err
	}
	data, err := f.Behind.ReadFile(ctx, name)
	return cut(fault, data, err)
}

// Glob implements host.Reader.
func (f *Faulty) Glob(ctx context.Context, pattern string) ([]string, error) {
	fault, err := f.fault(ctx, "glob", pattern)
	if err != nil {
		return nil, err
	}
	found, err := f.Behind.Glob(ctx, pattern)
	return cut(fault, found, err)
}

// Output implements host.Reader.
func (f *Faulty) Output(ctx context.Context, argv ...string) ([]byte, error) {
	fault, err := f.fault(ctx, "run", argv...)
	if err != nil {
		return nil, err
	}
	out, err := f.Behind.Output(ctx, argv...)
	return cut(fault, out, err)
}

// Query implements host.Reader.
func (f *Faulty) Query(ctx context.Context, t host.Target, query string) (host.Rows, error) {
	fault, err := f.fault(ctx, "query", t.Name, query)
	if err != nil {
		return host.Rows{}, err
	}
	rows, err := f.Behind.Query(ctx, t, query)
	all := len(rows.Values)
	rows.Values, err = cut(fault, rows.Values, err)
	rows.Cut = rows.Cut || len(rows.Values) < all
	return rows, err
}

// Raw implements host.Doer.
func (f *Faulty) Raw(ctx context.Context, name string) ([]byte, error) {
	fault, err := f.fault(ctx, "file", name)
	if err != nil {
		return nil, err
	}
	data, err := f.Behind.Raw(ctx, name)
	return cut(fault, data, err)
}

// Run implements host.Doer.
func (f *Faulty) Run(ctx context.Context, argv ...string) ([]byte, error) {
	fault, err := f.fault(ctx, "do", argv...)
	if err != nil {
		return nil, err
	}
	out, err := f.Behind.Run(ctx, argv...)
	return cut(fault, out, err)
}
