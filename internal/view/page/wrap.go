package page

import (
	"regexp"
	"strings"
)

// NoBreak stands for a space at which a line is not broken. It is a plain
// space again once the line is made.
const NoBreak = '\u00a0'

// Keep makes s stay on one line where that is possible.
func Keep(s string) string { return strings.ReplaceAll(s, " ", string(NoBreak)) }

// intervals are those that sentences give in brackets: (49 to 65 %), (+737 % to ×73.1).
var intervals = regexp.MustCompile(`\([+−-]?×?[0-9][^() ]{0,12}( %)? to [+−-]?×?[0-9][^() ]{0,12}( %)?\)`)

// KeepIntervals keeps the intervals of a sentence whole, and numbers with their
// per cent.
func KeepIntervals(s string) string { return tie(intervals.ReplaceAllStringFunc(s, Keep)) }

// MaxItem is the width up to which an item between two middle dots is kept
// whole.
const MaxItem = 32

// Wrap breaks s at spaces into lines of at most w columns, and keeps the items
// of a list with middle dots whole. Newlines in s are kept.
func Wrap(s string, w int) []string {
	w = max(w, 16)
	var lines []string
	for para := range strings.SplitSeq(strings.TrimRight(tie(s), "\n"), "\n") {
		line := ""
		for _, word := range words(para, w) {
			switch {
			case line == "":
				line = word
			case Width(line)+1+Width(word) <= w:
				line += " " + word
			default:
				lines = append(lines, line)
				line = word
			}
		}
		lines = append(lines, line)
	}
	for i, l := range lines {
		lines[i] = strings.ReplaceAll(l, string(NoBreak), " ")
	}
	return lines
}

// words splits at spaces into words of at most w columns. A middle dot stays
// with the word before it, so that no line begins with a separator.
func words(s string, w int) []string {
	var out []string
	items := strings.Split(s, " · ")
	for i, item := range items {
		if len(items) > 1 && Width(item) <= MaxItem {
			item = Keep(strings.TrimSpace(item))
		}
		fields := strings.FieldsFunc(item, func(r rune) bool { return r == ' ' })
		if i < len(items)-1 && len(fields) > 0 {
			fields[len(fields)-1] += string(NoBreak) + "·"
		}
		for _, f := range fields {
			out = append(out, pieces(f, w)...)
		}
	}
	return out
}

// LongestWord is the width of what a line is not broken in.
func LongestWord(s string) (most int) {
	for f := range strings.SplitSeq(s, " ") {
		most = max(most, Width(f))
	}
	return most
}

// pieces cuts a word that is longer than a line, after a sign at which it can
// be read on, and in no number: nothing of it is lost, because paths are to be copied whole. An
// address of a page is never cut: half of one cannot be opened.
func pieces(word string, w int) []string {
	if strings.HasPrefix(word, "https://") || strings.HasPrefix(word, "http://") {
		return []string{word}
	}
	var out []string
	r := []rune(word)
	for Width(string(r)) > w {
		cut := within(r, w)
		for i := cut; i > cut/3; i-- {
			if strings.ContainsRune(string(NoBreak)+"/,=:-_.", r[i-1]) && !(isDigit(r[i-2]) && isDigit(r[i])) {
				cut = i
				break
			}
		}
		out = append(out, strings.Trim(string(r[:cut]), string(NoBreak)))
		r = r[cut:]
	}
	return append(out, string(r))
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

// withUnit are numbers and what must not be parted from them.
var withUnit = regexp.MustCompile(`([0-9]) (%|s|ms)([ ,.;:)]|$)`)

// tie keeps a number and its unit on one line.
func tie(s string) string { return withUnit.ReplaceAllString(s, "$1"+string(NoBreak)+"$2$3") }
