package hint

import "strings"

// Meant gives "did you mean X?" when a known word is close to what was
// written, and "" otherwise.
func Meant(word string, known []string) string {
	if len(word) < 2 || len(word) > 80 {
		return ""
	}
	best, distance := "", len(word)/3+1
	for _, k := range known {
		d := edits(strings.ToLower(word), strings.ToLower(k), distance)
		if d < distance || d == distance && (best == "" || shared(word, k) > shared(word, best)) {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return "did you mean " + best + "?"
}

// shared counts the letters with which both begin: of two words that are equally close, the one that was begun was meant.
func shared(a, b string) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// edits counts the letters to change, add, drop or swap to make b of a. Past
// limit it answers limit+1.
func edits(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	var before []int
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
