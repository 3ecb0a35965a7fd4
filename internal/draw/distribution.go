package draw

import (
	"cmp"
	"fmt"
	"math"
	"strings"
)

// Distribution says which keys of a range are drawn how often. It is
// unchanging, so that goroutines may share it; drawing allocates nothing.
type Distribution interface {
	// Draw gives a number of [a, b], for any a <= b.
	Draw(s *Stream, a, b int64) int64
	// String names it with its parameters, for the head of a result.
	String() string
}

// Shape has the parameters of the distributions, under sysbench's names. A
// field that is zero means sysbench's default.
type Shape struct {
	Iter       int     // rand-spec-iter: values averaged by gaussian and special; 12
	Pct        int     // rand-spec-pct: size of the hot range of special, percent; 1
	Res        int     // rand-spec-res: draws of special that go to the hot range, percent; 75
	ParetoH    float64 // rand-pareto-h: 0.2 is the rule of 80 to 20
	ZipfianExp float64 // rand-zipfian-exp: 0.8
	Scramble   bool    // scatter the hot keys, which otherwise are neighbours and share pages
}

// Names lists the distributions that Named knows.
func Names() []string { return []string{"uniform", "gaussian", "special", "pareto", "zipfian"} }

// Named gives the distribution of sysbench's rand-type. An error says which
// parameter is out of bounds.
func Named(name string, o Shape) (Distribution, error) {
	o = o.filled()
	if err := o.check(); err != nil {
		return nil, err
	}
	var d Distribution
	switch name {
	case "uniform":
		return uniform{}, nil // scattering changes nothing
	case "gaussian":
		d = gaussian{o.Iter}
	case "special":
		d = special{o.Iter, float64(o.Pct), float64(o.Res)}
	case "pareto":
		d = pareto{o.ParetoH, math.Log(o.ParetoH) / math.Log1p(-o.ParetoH)}
	case "zipfian":
		d = newZipfian(o.ZipfianExp)
	default:
		return nil, fmt.Errorf("unknown distribution %q: there are %s", name, strings.Join(Names(), ", "))
	}
	if o.Scramble {
		d = scattered{d}
	}
	return d, nil
}

func (o Shape) filled() Shape {
	o.Iter, o.Pct, o.Res = cmp.Or(o.Iter, 12), cmp.Or(o.Pct, 1), cmp.Or(o.Res, 75)
	o.ParetoH, o.ZipfianExp = cmp.Or(o.ParetoH, 0.2), cmp.Or(o.ZipfianExp, 0.8)
	return o
}

func (o Shape) check() error {
	switch {
	case o.Iter < 1 || o.Iter > 1000:
		return fmt.Errorf("rand-spec-iter %d: not within 1 to 1000", o.Iter)
	case o.Pct < 1 || o.Pct > 100:
		return fmt.Errorf("rand-spec-pct %d: not within 1 to 100", o.Pct)
	case o.Res < 1 || o.Res > 99:
		return fmt.Errorf("rand-spec-res %d: not within 1 to 99", o.Res)
	case !(o.ParetoH > 0 && o.ParetoH < 1):
		return fmt.Errorf("rand-pareto-h %g: not between 0 and 1", o.ParetoH)
	case !(o.ZipfianExp > 0 && o.ZipfianExp <= 10):
		return fmt.Errorf("rand-zipfian-exp %g: not within 0 to 10", o.ZipfianExp)
	}
	return nil
}

// span is b-a, which may be more than an int64 holds.
func span(a, b int64) uint64 { return uint64(b) - uint64(a) }

// at gives a plus the whole part of offset, at most a+t. The bound is for
// rounding, and for parameters that reach over the end.
func at(a int64, offset float64, t uint64) int64 {
	switch {
	case !(offset > 0): // also what is no number
		return a
	case offset >= float64(t):
		return int64(uint64(a) + t)
	}
	return int64(uint64(a) + uint64(offset))
}

type uniform struct{}

func (uniform) Draw(s *Stream, a, b int64) int64 { return s.Between(a, b) }
func (uniform) String() string                   { return "uniform" }

// gaussian is the mean of some uniform values: a bell over the whole range.
type gaussian struct{ iter int }

func (g gaussian) Draw(s *Stream, a, b int64) int64 {
	t := span(a, b)
	return at(a, s.mean(g.iter)*(float64(t)+1), t)
}

func (g gaussian) String() string { return fmt.Sprintf("gaussian (mean of %d)", g.iter) }

// mean of n uniform values of [0, 1).
func (s *Stream) mean(n int) float64 {
	var sum float64
	for range n {
		sum += s.Float()
	}
	return sum / float64(n)
}

// special is the default of sysbench up to 1.0.20. One value u decides
// between the bell and the hot range and is used again within the hot range:
// so only that part of the range which belongs to the larger u is ever hit.
type special struct {
	iter     int
	pct, res float64
}

func (p special) Draw(s *Stream, a, b int64) int64 {
	width := span(a, b)
	t, u := float64(width), s.Float()
	if u*t*100/(100-p.res) < t {
		return at(a, s.mean(p.iter)*t, width)
	}
	// The conversions keep processors from joining multiplication and sum,
	// which would round otherwise on some.
	return at(a, float64(u*(float64(t*p.pct/100)+1))+t/2-float64(t*p.pct/200), width)
}

func (p special) String() string {
	return fmt.Sprintf("special (%.0f %% of draws in the middle %.0f %%, others the mean of %d)", p.res, p.pct, p.iter)
}

// pareto draws low keys most: a power of a uniform value.
type pareto struct{ h, power float64 }

func (p pareto) Draw(s *Stream, a, b int64) int64 {
	t := span(a, b)
	return at(a, (float64(t)+1)*math.Pow(s.Float(), p.power), t)
}

func (p pareto) String() string { return fmt.Sprintf("pareto (h %g)", p.h) }

// scattered moves the keys of another distribution about within the range.
// Which keys are hot depends on the range alone, as it does unscattered.
type scattered struct{ of Distribution }

func (d scattered) Draw(s *Stream, a, b int64) int64 {
	t := span(a, b)
	return int64(uint64(a) + permute(scatter, span(a, d.of.Draw(s, a, b)), t))
}

func (d scattered) String() string { return d.of.String() + ", hot keys scattered" }

const scatter = 0x5ca77e7ed // any key will do, as long as it stays the same
