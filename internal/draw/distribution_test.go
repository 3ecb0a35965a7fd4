package draw

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func named(t testing.TB, name string, o Shape) Distribution {
	t.Helper()
	d, err := Named(name, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// count draws from 1 to keys, n times.
func count(d Distribution, keys, n int64) []int {
	counts := make([]int, keys)
	for i := range n {
		s := Keyed(11, 3, i)
		counts[d.Draw(&s, 1, keys)-1]++
	}
	return counts
}

// share of the draws that the hottest keys get.
func share(counts []int, keys int) float64 {
	order := slices.Clone(counts)
	slices.Sort(order)
	slices.Reverse(order)
	return float64(sum(order[:keys])) / float64(sum(order))
}

func sum(counts []int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

func chiSquare(counts []int) (x float64) {
	want := float64(sum(counts)) / float64(len(counts))
	for _, c := range counts {
		x += (float64(c) - want) * (float64(c) - want) / want
	}
	return x
}

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s is %.4f, want %.4f within %g", what, got, want, within)
	}
}

func TestUniform(t *testing.T) {
	if x := chiSquare(count(named(t, "uniform", Shape{}), 1000, 1e6)); x > 1143 || x < 862 { // 999 degrees of freedom, p 0.001 on either side
		t.Errorf("chi-square is %.0f", x)
	}
}

// Successive operations must not depend on one another, nor the draws of one.
func TestUniformInPairs(t *testing.T) {
	var within, across [32 * 32]int
	previous := int64(0)
	for i := range int64(1e6) {
		s := Keyed(5, 1, i)
		first, second := s.Below(32), s.Below(32)
		within[first*32+second]++
		across[previous*32+first]++
		previous = second
	}
	for what, counts := range map[string][]int{"within": within[:], "across": across[:]} {
		if x := chiSquare(counts); x > 1168 || x < 885 { // 1023 degrees of freedom, p 0.001
			t.Errorf("chi-square of pairs %s operations is %.0f", what, x)
		}
	}
}

func TestGaussian(t *testing.T) {
	counts := count(named(t, "gaussian", Shape{}), 1000, 1e6)
	var mean, square float64
	for i, c := range counts {
		mean += float64(i) * float64(c) / 1e6
		square += float64(i) * float64(i) * float64(c) / 1e6
	}
	near(t, "mean", mean, 499.5, 0.5)
	near(t, "deviation", math.Sqrt(square-mean*mean), 1000/math.Sqrt(144), 0.5)
}

// The figures of sysbench 1.0.20: of 100,000 rows 751 get 75.8 % of the
// draws, 20 % get 95 %, and most are never read at a million draws.
func TestSpecial(t *testing.T) {
	counts := count(named(t, "special", Shape{}), 100000, 2e6)
	first := slices.IndexFunc(counts, func(c int) bool { return c > 500 })
	hot := counts[first : first+751]
	near(t, "first hot key", float64(first+1), 49751, 1)
	near(t, "share of the hot range", float64(sum(hot))/2e6, 0.758, 0.002)
	near(t, "share of a fifth of the keys", share(counts, 20000), 0.95, 0.01)
	for i, c := range hot[:750] {
		if c < 1500 {
			t.Fatalf("hot key %d was drawn %d times", first+i, c)
		}
	}
}

func TestPareto(t *testing.T) {
	counts := count(named(t, "pareto", Shape{}), 100000, 1e6)
	near(t, "share of 1 %", float64(sum(counts[:1000]))/1e6, 0.53, 0.005)
	near(t, "share of 20 %", share(counts, 20000), 0.81, 0.01)
}

func TestZipfian(t *testing.T) {
	for _, theta := range []float64{0.1, 0.8, 1, 1.5, 3} {
		const keys, n = 1000, 1e6
		counts := count(named(t, "zipfian", Shape{ZipfianExp: theta}), keys, n)
		var all float64
		for k := 1; k <= keys; k++ {
			all += math.Pow(float64(k), -theta)
		}
		var x float64
		cells := 0.0
		for k := 1; k <= keys; k++ {
			want := n * math.Pow(float64(k), -theta) / all
			if want < 5 {
				break
			}
			x += (float64(counts[k-1]) - want) * (float64(counts[k-1]) - want) / want
			cells++
		}
		if x > cells+3.3*math.Sqrt(2*cells)+6 { // about p 0.001
			t.Errorf("exponent %g: chi-square is %.0f for %.0f keys", theta, x, cells)
		}
	}
}

func TestScramble(t *testing.T) {
	for _, name := range Names() {
		plain := count(named(t, name, Shape{}), 10000, 3e5)
		moved := count(named(t, name, Shape{Scramble: true}), 10000, 3e5)
		if name != "uniform" && slices.Equal(plain, moved) {
			t.Errorf("%s is not scattered", name)
		}
		for i, c := range plain {
			if d := moved[Permute(scatter, int64(i), 10000)]; name != "uniform" && c != d {
				t.Fatalf("%s: key %d was drawn %d times, where it moved to %d times", name, i, c, d)
			}
		}
	}
	// The hot keys of special, scattered over pages of a hundred rows.
	pages := map[int]bool{}
	for i, c := range count(named(t, "special", Shape{Scramble: true}), 100000, 2e6) {
		if c > 500 {
			pages[i/100] = true
		}
	}
	near(t, "pages with hot keys", float64(len(pages)), 1000*(1-math.Pow(0.999, 751)), 40)
}

// keys are ends of ranges, extreme ones often.
var keys = rapid.OneOf(rapid.Int64(), rapid.Int64Range(-10, 10),
	rapid.SampledFrom([]int64{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, 1 << 53, math.MaxInt64 - 1, math.MaxInt64}))

func TestDrawsStayWithin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := keys.Draw(t, "a"), keys.Draw(t, "b")
		a, b = min(a, b), max(a, b)
		o := Shape{
			Iter: rapid.IntRange(0, 20).Draw(t, "iter"), Pct: rapid.IntRange(0, 100).Draw(t, "pct"), Res: rapid.IntRange(0, 99).Draw(t, "res"),
			ParetoH: rapid.Float64Range(0, 0.999999).Draw(t, "h"), ZipfianExp: rapid.Float64Range(0, 10).Draw(t, "exp"),
			Scramble: rapid.Bool().Draw(t, "scramble"),
		}
		d, err := Named(rapid.SampledFrom(Names()).Draw(t, "name"), o)
		if err != nil {
			t.Fatal(err)
		}
		s := Keyed(rapid.Uint64().Draw(t, "seed"), 1, 2)
		for range 20 {
			if v := d.Draw(&s, a, b); v < a || v > b {
				t.Fatalf("%s drew %d of [%d, %d]", d, v, a, b)
			}
		}
	})
}

func TestPermuteIsBijective(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key, n := rapid.Uint64().Draw(t, "key"), rapid.Int64Range(1, 3000).Draw(t, "n")
		seen := make([]bool, n)
		for i := range n {
			p := Permute(key, i, n)
			if p < 0 || p >= n || seen[p] {
				t.Fatalf("%d goes to %d", i, p)
			}
			seen[p] = true
		}
	})
}

// Over many keys every place must be as likely for every number, and
// neighbours must not stay together.
func TestPermuteMixes(t *testing.T) {
	for _, n := range []int64{7, 10, 100, 3000} {
		const rounds = 20000
		for _, i := range []int64{0, 1, n - 1} {
			counts, apart := make([]int, n), make([]int, n)
			for key := range uint64(rounds) {
				p := Permute(key, i, n)
				counts[p]++
				apart[(Permute(key, (i+1)%n, n)-p+n)%n]++
			}
			free := float64(n - 1)
			if x := chiSquare(counts); x > free+4*math.Sqrt(2*free)+8 {
				t.Errorf("n %d: places of %d have chi-square %.0f", n, i, x)
			}
			if x := chiSquare(apart[1:]); apart[0] != 0 || x > (free-1)+5*math.Sqrt(2*free)+10 {
				t.Errorf("n %d: distances from %d have chi-square %.0f", n, i, x)
			}
		}
	}
}

func TestPermuteOutside(t *testing.T) {
	if Permute(1, -1, 10) != 0 || Permute(1, 10, 10) != 0 || Permute(1, 0, 0) != 0 || Permute(1, 0, 1) != 0 {
		t.Error("numbers outside do not give 0")
	}
	if p := Permute(1, math.MaxInt64-1, math.MaxInt64); p < 0 {
		t.Errorf("%d of the largest range", p)
	}
}

// The shares that the specification's constants give to the hottest 1 %.
func TestNURand(t *testing.T) {
	for _, c := range []struct {
		what string
		A    int64
		x, y int64
		want float64
	}{
		{"items", NURandItem, 1, 100000, 0.306},
		{"customers", NURandCustomer, 1, 3000, 0.222},
		{"last names", NURandLastName, 0, 999, 0.148},
	} {
		counts := make([]int, c.y-c.x+1)
		for i := range int64(4e6) {
			s := Keyed(3, 4, i)
			counts[s.NURand(c.A, c.x, c.y, 123)-c.x]++
		}
		near(t, c.what, share(counts, len(counts)/100), c.want, 0.004)
	}
}

func TestConstants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		load, run := rapid.Uint64().Draw(t, "load"), rapid.Uint64().Draw(t, "run")
		was, is := LoadConstants(load), RunConstants(load, run)
		for _, c := range []Constants{was, is} {
			if c.LastName < 0 || c.LastName > 255 || c.Customer < 0 || c.Customer > 1023 || c.Item < 0 || c.Item > 8191 {
				t.Fatal(c)
			}
		}
		d := was.LastName - is.LastName
		d = max(d, -d)
		if d < 65 || d > 119 || d == 96 || d == 112 {
			t.Fatalf("constants differ by %d", d)
		}
	})
}

func TestNamedRefuses(t *testing.T) {
	for name, o := range map[string]Shape{
		"latest": {}, "special": {Res: 100}, "gaussian": {Iter: -1}, "uniform": {Pct: 101},
		"pareto": {ParetoH: 1}, "zipfian": {ZipfianExp: math.NaN()},
	} {
		if d, err := Named(name, o); err == nil {
			t.Errorf("%s %+v gives %s", name, o, d)
		}
	}
}

func TestDrawsAllocateNothing(t *testing.T) {
	s := Keyed(1, 2, 3)
	row := make([]byte, 0, 600)
	block := make([]byte, 16384)
	for _, name := range Names() {
		for _, scramble := range []bool{false, true} {
			d := named(t, name, Shape{Scramble: scramble})
			if n := testing.AllocsPerRun(1000, func() { d.Draw(&s, 1, 1000000) }); n != 0 {
				t.Errorf("%s allocates %g times", d, n)
			}
		}
	}
	if n := testing.AllocsPerRun(1000, func() {
		row = s.Letters(s.Numerals(LastName(s.Digits(row[:0], 10), 371), 9, 9), 300, 400)
		s.NURand(255, 0, 999, 1)
		Permute(1, 2, 3000)
		Content(block, 1, 2, 3, 0.5)
	}); n != 0 {
		t.Errorf("rows allocate %g times", n)
	}
}

func BenchmarkDraw(b *testing.B) {
	for _, name := range Names() {
		for _, scramble := range []bool{false, true} {
			d := named(b, name, Shape{Scramble: scramble})
			if scramble {
				name += "-scattered"
			}
			b.Run(name, func(b *testing.B) {
				s := Keyed(1, 2, 3)
				for b.Loop() {
					d.Draw(&s, 1, 1000000)
				}
			})
		}
	}
}

// A row of sysbench's tables: column c and column pad.
func BenchmarkRow(b *testing.B) {
	row := make([]byte, 0, 200)
	for i := int64(0); b.Loop(); i++ {
		s := Keyed(1, 2, i)
		row = s.Digits(s.Digits(row[:0], 10), 5)
	}
	b.SetBytes(int64(len(row)))
}

func BenchmarkLetters(b *testing.B) {
	row := make([]byte, 0, 300)
	s := Keyed(1, 2, 3)
	for b.Loop() {
		row = s.Letters(row[:0], 290, 290)
	}
	b.SetBytes(int64(len(row)))
}

func BenchmarkNURand(b *testing.B) {
	s := Keyed(1, 2, 3)
	for b.Loop() {
		s.NURand(8191, 1, 100000, 7911)
	}
}

func BenchmarkPermute(b *testing.B) {
	for i := int64(0); b.Loop(); i++ {
		Permute(1, i%3000, 3000)
	}
}

func BenchmarkContent(b *testing.B) {
	block := make([]byte, 16384)
	b.SetBytes(16384)
	for i := int64(0); b.Loop(); i++ {
		Content(block, 1, 2, i, 0)
	}
}
