package edit

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// udev is the form of udev(7) rules. A key is the matches of a rule, as they
// stand there with ", " between them, one blank, and the attribute that the
// rule sets: ACTION=="add|change", KERNEL=="sda" ATTR{queue/scheduler}.
func udev() grammar {
	return grammar{
		scan: scanUdev,
		raw: func(value string) (string, error) {
			if strings.ContainsAny(value, "\"\\$%") { // escapes and substitutions
				return "", errBlank
			}
			_, err := oneLine(value)
			return `"` + value + `"`, err
		},
		insert: func(text []byte, key, raw string) ([]byte, error) {
			at := strings.LastIndexByte(key, ' ')
			if at < 0 || !strings.Contains(key[:at], "==") || strings.ContainsAny(key, "\r\n\\#") {
				return nil, errors.New("want matches and an attribute")
			}
			return appended(text, key[:at]+", "+key[at+1:]+"="+raw), nil
		},
	}
}

// udevToken is one match or assignment: NAME, perhaps {attribute}, operator,
// quoted value.
var udevToken = regexp.MustCompile(`^([A-Z_]+(\{[^}"]*\})?)\s*(==|!=|\+=|-=|:=|=)\s*(e?"[^"\\]*")\s*,?\s*`)

func scanUdev(text []byte) ([]assignment, error) {
	var all []assignment
	for l := range lines(text) {
		s, at := l.trimmed()
		if s == "" || s[0] == '#' {
			continue
		}
		if strings.HasSuffix(s, `\`) {
			return nil, fmt.Errorf("line %d: it continues on the next line, which is not understood here", l.number)
		}
		all = append(all, udevRule(s, at, l.number)...)
	}
	return all, nil
}

// udevRule gives what one rule assigns. A rule that is not understood assigns
// nothing that could be changed.
func udevRule(s string, at, number int) []assignment {
	var matches []string
	var sets []assignment
	for done := 0; done < len(s); {
		m := udevToken.FindStringSubmatchIndex(s[done:])
		if m == nil {
			return nil
		}
		part := func(i int) string { return s[done+m[2*i] : done+m[2*i+1]] }
		switch part(3) {
		case "==", "!=":
			matches = append(matches, part(1)+part(3)+part(4))
		case "=":
			sets = append(sets, assignment{key: part(1), value: strings.Trim(part(4), `"`), from: at + done + m[8], to: at + done + m[9], line: number})
		}
		done += m[1]
	}
	for i := range sets {
		sets[i].key = strings.Join(matches, ", ") + " " + sets[i].key
	}
	return sets
}
