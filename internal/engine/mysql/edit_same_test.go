package mysql

import (
	"strings"
	"testing"

	"plumb/internal/edit"
)

// What is read and what is edited must be understood alike: a text that edit
// accepts gives the same options, in the same order.
func FuzzEditReadsOptionsTheSame(f *testing.F) {
	f.Add("[mysqld]\nsync-binlog = \"0\" # x\nskip-name-resolve\n!includedir /etc/my.cnf.d\n[client]\r\nloose-a='b#\\n'\n")
	f.Add("[mysqld]\nenable-a\ndisable_b # c\n--c = \\# d\n[ x ] y\ne=\n")
	f.Fuzz(func(t *testing.T, text string) {
		keys, err := edit.Keys(edit.OptionFile, []byte(text))
		if err != nil || !plainBlanks(text) {
			return
		}
		lines, bad, why := parseOptions([]byte(text))
		if bad != 0 && why != "" && !strings.Contains(text, "[") {
			t.Fatalf("%q: edit accepts what is given up in line %d: %s", text, bad, why)
		}
		var want []string
		for _, l := range lines {
			if l.include == "" && !l.dir && l.group != "" {
				want = append(want, strings.TrimSuffix(editKey(l)+" "+l.value, " "))
			}
		}
		for i := range keys {
			keys[i] = strings.TrimSuffix(keys[i], " ")
		}
		if bad == 0 && strings.Join(keys, "\n") != strings.Join(want, "\n") {
			t.Fatalf("%q: edit reads %q, the probe %q", text, keys, want)
		}
	})
}

// plainBlanks leaves out what only Go takes for a blank.
func plainBlanks(text string) bool {
	return !strings.ContainsAny(text, "\u0085\u00a0\u2028\u2029\u3000\u1680\u202f\u205f") && !strings.ContainsFunc(text, func(r rune) bool { return r >= 0x2000 && r <= 0x200a })
}

// editKey is an option in edit's words, which know the prefixes of an option
// that stands alone.
func editKey(l line) string {
	name := strings.TrimPrefix(strings.ReplaceAll(l.name, "-", "_"), "loose_")
	if l.bare {
		for _, prefix := range []string{"disable_", "enable_"} {
			if rest, ok := strings.CutPrefix(name, prefix); ok {
				return l.group + "/" + rest + map[string]string{"disable_": " OFF", "enable_": " ON"}[prefix]
			}
		}
		name += " ON"
	}
	return l.group + "/" + name
}
