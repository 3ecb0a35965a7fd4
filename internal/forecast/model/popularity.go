package model

import (
	"math"
	"sort"
)

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

// misses are the misses of a popularity by the part of the data that a cache holds.
type misses struct{ held, missed []float64 }

// timeSteps is how finely characteristic times are gone through.
const timeSteps = 400

// misses gives the part of reads that a cache misses which drops what was used
// least recently: the approximation of H. Che, Y. Tung and Z. Wang (2002). Its
// characteristic time, counted in reads for each page of data, is how long a
// page stays when nobody reads it.
func (p Popularity) misses() misses {
	const first, last = -26, 14 // logarithms of the time in which the hottest page is read, and of that in which the coldest is
	m := misses{held: []float64{0}, missed: []float64{1}}
	data, reads := p.cells()
	for i := range timeSteps {
		t := math.Exp(first + (last-first)*float64(i)/(timeSteps-1))
		held, missed := 0.0, 0.0
		for j := range data {
			gone := math.Exp(-reads[j] / data[j] * t)
			held += data[j] * (1 - gone)
			missed += reads[j] * gone
		}
		if p.Recent > 0 {
			missed += p.Recent * math.Exp(-t/p.Window)
		}
		m.held, m.missed = append(m.held, held), append(m.missed, missed)
	}
	return m
}

// at gives the part of reads that is missed when a part of the data is held.
func (m misses) at(held float64) float64 {
	if held >= 1 {
		return 0
	}
	i := sort.SearchFloat64s(m.held, held)
	if i == 0 {
		return 1
	}
	if i == len(m.held) {
		return m.missed[i-1]
	}
	a, b := m.held[i-1], m.held[i]
	w := (held - a) / (b - a)
	return (1-w)*m.missed[i-1] + w*m.missed[i]
}

// cells divides the data, the hottest finest, and gives the reads of each part.
func (p Popularity) cells() (data, reads []float64) {
	own := 1 - p.Even - p.Recent
	before, got := 0.0, 0.0
	for j := range popularityGrid + 1 {
		q := math.Pow(10, -9+9*float64(j)/popularityGrid)
		share := math.Pow(q, p.Skew)
		data = append(data, q-before)
		reads = append(reads, own*(share-got)+p.Even*(q-before))
		before, got = q, share
	}
	return data, reads
}
