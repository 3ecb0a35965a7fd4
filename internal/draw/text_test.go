package draw

import (
	"bytes"
	"fmt"
	"regexp"
	"testing"

	"pgregory.net/rapid"
)

func TestDigits(t *testing.T) {
	s := Keyed(1, 2, 3)
	got := s.Digits([]byte("x"), 10)
	if len(got) != 120 || !regexp.MustCompile(`^x(\d{11}-){9}\d{11}$`).Match(got) {
		t.Errorf("ten groups are %q", got)
	}
	if got := s.Digits(nil, 5); len(got) != 59 {
		t.Errorf("five groups are %d bytes long", len(got))
	}
	if got := s.Digits(nil, 0); len(got) != 0 {
		t.Errorf("no groups are %q", got)
	}
}

func TestEightDigits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Uint64Range(0, 99999999).Draw(t, "v")
		text := eight(v)
		var got []byte
		for i := range 8 {
			got = append(got, byte(text>>(8*i)))
		}
		if want := fmt.Sprintf("%08d", v); string(got) != want {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}

// Every digit must be as frequent in each place.
func TestDigitsEven(t *testing.T) {
	const rows = 100000
	var seen [11][10]int
	for i := range int64(rows) {
		s := Keyed(7, 1, i)
		var room [16]byte
		for place, c := range s.Digits(room[:0], 1) {
			seen[place][c-'0']++
		}
	}
	for place, counts := range seen {
		if x := chiSquare(counts[:]); x > 27.9 { // 9 degrees of freedom, p 0.001
			t.Errorf("place %d: chi-square is %.1f: %v", place, x, counts)
		}
	}
}

func TestLetters(t *testing.T) {
	lengths, counts := map[int]int{}, map[byte]int{}
	var room [32]byte
	for i := range int64(100000) {
		s := Keyed(7, 2, i)
		got := s.Letters(room[:0], 14, 24)
		lengths[len(got)]++
		for _, c := range got {
			counts[c]++
		}
	}
	if len(lengths) != 11 || lengths[14] < 8500 || lengths[24] < 8500 {
		t.Errorf("lengths of 14 to 24: %v", lengths)
	}
	var each []int
	for _, c := range []byte("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") {
		each = append(each, counts[c])
	}
	if x := chiSquare(each); len(counts) != 62 || x > 100.9 { // 61 degrees of freedom, p 0.001
		t.Errorf("%d characters, chi-square %.1f", len(counts), x)
	}
}

func TestNumerals(t *testing.T) {
	s := Keyed(1, 2, 3)
	if got := s.Numerals([]byte("x"), 16, 16); !regexp.MustCompile(`^x\d{16}$`).Match(got) {
		t.Errorf("numerals are %q", got)
	}
	if got := s.Numerals(nil, 4, 4); len(got) != 4 {
		t.Errorf("numerals are %q", got)
	}
}

func TestLastName(t *testing.T) {
	for number, want := range map[int64]string{0: "BARBARBAR", 371: "PRICALLYOUGHT", 999: "EINGEINGEING", 40: "BARPRESBAR"} {
		if got := LastName(nil, number); string(got) != want {
			t.Errorf("name %d is %s, want %s", number, got, want)
		}
	}
	seen := map[string]bool{}
	for number := range int64(1000) {
		seen[string(LastName(nil, number))] = true
	}
	if len(seen) != 1000 {
		t.Errorf("only %d names", len(seen))
	}
}

// What a seed gives must never change: data loaded by one release are run
// and verified by another.
func TestGolden(t *testing.T) {
	s := Keyed(42, 7, 1000)
	var b bytes.Buffer
	fmt.Fprintf(&b, "%x %d %d\n", s.Uint64(), s.Below(1000), s.Between(-5, 5))
	fmt.Fprintf(&b, "%s\n", s.Digits(nil, 2))
	fmt.Fprintf(&b, "%s %s\n", s.Letters(nil, 10, 20), s.Numerals(nil, 9, 9))
	fmt.Fprintf(&b, "%d %d %d\n", s.NURand(255, 0, 999, 17), s.NURand(1023, 1, 3000, 259), s.NURand(8191, 1, 100000, 7911))
	fmt.Fprintf(&b, "%d %d %d\n", Permute(1, 0, 3000), Permute(1, 1, 3000), Permute(2, 0, 1<<40))
	for _, name := range Names() {
		for _, scramble := range []bool{false, true} {
			d, _ := Named(name, Shape{Scramble: scramble})
			fmt.Fprintf(&b, "%s: %d %d\n", d, d.Draw(&s, 1, 100000), d.Draw(&s, 1, 1<<40))
		}
	}
	fmt.Fprintf(&b, "%v %v\n", LoadConstants(42), RunConstants(42, 43))
	var block [520]byte
	Content(block[:], 42, 3, 9, 0.5)
	fmt.Fprintf(&b, "%x %x\n", block[:24], block[512:])
	if b.String() != golden {
		t.Errorf("drawn:\n%s", b.String())
	}
}

const golden = `2c56f550c2680f8 751 4
94946456618-45354182062
S5dlq4pOTkHJDxInq 784552727
527 139 14047
1700 2449 628574506686
uniform: 33033 214549209617
uniform: 3728 319683751256
gaussian (mean of 12): 62137 590457313755
gaussian (mean of 12), hot keys scattered: 9012 661832553467
special (75 % of draws in the middle 1 %, others the mean of 12): 48452 549366949982
special (75 % of draws in the middle 1 %, others the mean of 12), hot keys scattered: 72821 922964145383
pareto (h 0.2): 327 121781784162
pareto (h 0.2), hot keys scattered: 78358 190683709117
zipfian (exponent 0.8): 10206 73760899088
zipfian (exponent 0.8), hot keys scattered: 79614 112174262125
{153 948 7037} {253 323 943}
1591811a1e56eab1ee81c0889dcae8402e11274f902f802d 0239a9cef3e9b664
`
