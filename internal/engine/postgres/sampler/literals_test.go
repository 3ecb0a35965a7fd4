package sampler

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestShown(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT * FROM t WHERE a = $1":                     "SELECT * FROM t WHERE a = $1",
		"select 'it''s', E'a\\\\b', 4.5e3, .5, -7 from t9": "select ?, ?, ?, ?, -? from t9",
		"SELECT $$a'b$$, $x$ c $$ d $x$, \"q'q\"":          "SELECT ?, ?, \"q'q\"",
		"SELECT 1 /* user=9 */ + b -- 5":                   "SELECT ?   + b  ",
		"SELECT 1 /* by /* nested */ joe@example.com */":   "SELECT ?  ",
		"SELECT 1 /*/ joe */ + 2 /* /* open */ joe":        "SELECT ?   + ?  ",
		"SELECT $日本$it's joe$日本$, 日本 FROM t":               "SELECT ?, 日本 FROM t",
		"UPDATE t SET v = 'open":                           "UPDATE t SET v = ?",
		`SELECT 'a\'secret'`:                               "",
		"ALTER ROLE joe PASSWORD 'x'":                      "ALTER ROLE …",
		"SET token TO abc":                                 "SET token …",
		"SET \"a\" TO abc":                                 "SET  …",
		"COMMIT":                                           "COMMIT",
		"(SELECT 1)":                                       "(SELECT ?)",
		"SELECT U&'x', B'1', x'ff', N'y'":                  "SELECT ?, ?, ?, ?",
		"":                                                 "",
	} {
		got := shown(text)
		if strings.Contains(text, `\'`) {
			if strings.Contains(got, "secret") {
				t.Errorf("%s: %q", text, got)
			}
			continue
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// FuzzShown: what stood in a string is not shown.
func FuzzShown(f *testing.F) {
	f.Add("SELECT ", " FROM t")
	f.Add("INSERT INTO t VALUES (1, ", ")")
	f.Add("ALTER ROLE a PASSWORD ", "")
	f.Fuzz(func(t *testing.T, before, after string) {
		if strings.ContainsAny(before, "'\"$-/\\") || !utf8.ValidString(before) {
			return // the string would not be one
		}
		if got := shown(before + " 'zsecretz' " + after); strings.Contains(got, "zsecretz") && !strings.Contains(before+after, "zsecretz") {
			t.Errorf("%q", got)
		}
		shown(before + after)
	})
}
