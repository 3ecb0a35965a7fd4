package model

import "math"

// Popularity says how reads are spread over the data of a cache.
type Popularity struct {
	Skew   float64 // the hottest part q of the data gets q^Skew of the reads: 1 is even, near 0 most uneven
	Even   float64 // part of the reads that are spread evenly beside that
	Recent float64 // part of the reads that go to what was written or read lately
	Window float64 // of those: how far back the mean one goes, as a part of the data
}

// Pareto is the popularity that sysbench draws with --rand-type=pareto: a part h
// of the rows gets 1-h of the reads.
func Pareto(h float64) Popularity { return Popularity{Skew: math.Log(1-h) / math.Log(h)} }

// popularityGrid is how finely the data is divided, the hottest finest.
const popularityGrid = 120

// Miss is the part of reads that a cache misses which holds a part of the data
// and drops what was used least recently: the approximation of H. Che, Y. Tung
// and Z. Wang (2002). Its characteristic time t, counted in reads for each page
// of data, is how long a page stays when nobody reads it.
func (p Popularity) Miss(held float64) float64 {
	if held >= 1 {
		return 0
	}
	if held <= 0 {
		return 1
	}
	low, high := -40.0, 40.0
	for range 60 {
		middle := (low + high) / 2
		if p.filled(math.Exp(middle)) > held {
			high = middle
		} else {
			low = middle
		}
	}
	t := math.Exp(low)
	sum := 0.0
	p.each(func(data, reads float64) { sum += reads * math.Exp(-reads/data*t) })
	if p.Recent > 0 {
		sum += p.Recent * math.Exp(-t/p.Window)
	}
	return min(1, sum)
}

// filled is the part of the data that is in a cache of characteristic time t.
func (p Popularity) filled(t float64) (sum float64) {
	p.each(func(data, reads float64) { sum -= data * math.Expm1(-reads/data*t) })
	return sum
}

// each calls do with the data and the reads of each cell of the grid.
func (p Popularity) each(do func(data, reads float64)) {
	own := 1 - p.Even - p.Recent
	before := 0.0
	for j := range popularityGrid + 1 {
		q := math.Pow(10, -9+9*float64(j)/popularityGrid)
		data := q - before
		share := math.Pow(q, p.Skew)
		if before > 0 {
			share -= math.Pow(before, p.Skew)
		}
		do(data, own*share+p.Even*data)
		before = q
	}
}
