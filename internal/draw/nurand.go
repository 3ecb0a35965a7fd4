package draw

// NURand is the non-uniform random function of the TPC-C specification
// (2.1.6) over [x, y]: the bitwise or of two uniform values prefers numbers
// with many bits set, and c moves the preferred ones about.
func (s *Stream) NURand(A, x, y, c int64) int64 {
	return ((s.Between(0, A)|s.Between(x, y))+c)%(y-x+1) + x
}

// A of NURand, by what is drawn (TPC-C 2.1.6).
const (
	NURandLastName = 255
	NURandCustomer = 1023
	NURandItem     = 8191
)

// Constants are C of NURand, by what is drawn. They stay the same for the
// whole of a load and for the whole of a run, for all terminals.
type Constants struct{ LastName, Customer, Item int64 }

const constants = 0xc0 // the stream they are drawn from

// LoadConstants are those that data of this seed are made with.
func LoadConstants(seed uint64) Constants {
	s := Keyed(seed, constants, 0)
	return Constants{s.Between(0, NURandLastName), s.Between(0, NURandCustomer), s.Between(0, NURandItem)}
}

// RunConstants are those for running with one seed on data made with another.
// The specification (2.1.6.1) wants C for last names to differ from the one
// of the load by 65 to 119, and by neither 96 nor 112: otherwise the names
// that are asked for most would be those with the most customers, or with the
// fewest.
func RunConstants(load, run uint64) Constants {
	s := Keyed(run, constants, 1)
	was := LoadConstants(load).LastName
	for {
		c := Constants{s.Between(0, NURandLastName), s.Between(0, NURandCustomer), s.Between(0, NURandItem)}
		if d := max(c.LastName-was, was-c.LastName); d >= 65 && d <= 119 && d != 96 && d != 112 {
			return c
		}
	}
}
