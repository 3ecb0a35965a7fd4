package point

import (
	"slices"
	"strings"
	"testing"

	"plumb/internal/hint"
)

// TestStatementsOfMasks: a mask is divided as psql divides a script.
func TestStatementsOfMasks(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"UPDATE a SET b = 1", []string{"UPDATE a SET b = 1"}},
		{"UPDATE a SET b = 1; UPDATE c SET d = 2;\n", []string{"UPDATE a SET b = 1", "UPDATE c SET d = 2"}},
		{"\\connect shop\nUPDATE a SET b = 1;\n\\c postgres\nSELECT 1", []string{`\connect shop`, "UPDATE a SET b = 1", `\connect postgres`, "SELECT 1"}},
		{"\\connect shop;\r\nUPDATE a SET b = 1;\r\n", []string{`\connect shop`, "UPDATE a SET b = 1"}},
		{"-- to the shop\n  \\connect \"My \"\"Shop\"\"; it's\" ;;\nSELECT 1;", []string{`\connect "My ""Shop""; it's"`, "SELECT 1"}},
		{"\ufeffSELECT 1;\n-- that was all; really\n/* or /* not */ ; */\n;;", []string{"SELECT 1"}},
		{"-- why;\nSELECT 1 -- because;\n, 2;", []string{"-- why;\nSELECT 1 -- because;\n, 2"}},
		{"SELECT ';' || \"a;\"\";b\", 'it''s;' FROM t;SELECT 2", []string{"SELECT ';' || \"a;\"\";b\", 'it''s;' FROM t", "SELECT 2"}},
		{`SELECT '\'; SELECT E'\';', U&'\0061', nE'\'; SELECT 3`, []string{`SELECT '\'`, `SELECT E'\';', U&'\0061', nE'\'`, "SELECT 3"}},
		{"DO $$ BEGIN UPDATE a SET b = '\\;'; END $$; SELECT $x$ $$;$y$; $x$, $1, a$b$c FROM t; SELECT 3",
			[]string{"DO $$ BEGIN UPDATE a SET b = '\\;'; END $$", "SELECT $x$ $$;$y$; $x$, $1, a$b$c FROM t", "SELECT 3"}},
		{"CREATE RULE r AS ON UPDATE TO a DO (SELECT 1; SELECT ')'); SELECT 2", []string{"CREATE RULE r AS ON UPDATE TO a DO (SELECT 1; SELECT ')')", "SELECT 2"}},
		{"CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END; SELECT 3",
			[]string{"CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END", "SELECT 3"}},
		{"BEGIN; UPDATE a SET b = 1; END; SELECT CASE WHEN c THEN 1 END FROM a;", []string{"BEGIN", "UPDATE a SET b = 1", "END", "SELECT CASE WHEN c THEN 1 END FROM a"}},
		{"SELECT 1) ; SELECT 2", []string{"SELECT 1)", "SELECT 2"}},
		{"COPY t TO STDOUT; COPY t FROM '/srv/stdin'; SELECT stdin FROM t", []string{"COPY t TO STDOUT", "COPY t FROM '/srv/stdin'", "SELECT stdin FROM t"}},
		{" \n-- nothing\n", nil},
	} {
		got, err := Engine{}.Statements(c.text)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, %v; want %q", c.text, got, err, c.want)
		}
	}
}

// TestMasksThatAreRefused: what psql would do itself no mask does, and each refusal names its line.
func TestMasksThatAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT 1;\n\\i other.sql\n":                   `line 2: \i is a command of psql`,
		"\\! rm -rf /srv":                              `line 1: \! is a command of psql`,
		"\\set ON_ERROR_STOP on\nSELECT 1;":            `line 1: \set is a command of psql`,
		"SELECT 'UPDATE a' \\gexec":                    `line 1: \gexec is a command of psql`,
		"SELECT 1 \\; SELECT 2;":                       `line 1: \; is a command of psql`,
		"\\copy t FROM 'x'":                            `line 1: \copy is a command of psql`,
		"\n\n\\connection shop":                        `line 3: \connection is a command of psql`,
		"\\":                                           `line 1: \ is a command of psql`,
		"\\\x1b[2J":                                    `line 1: \ is a command of psql`,
		"\\connect":                                    `line 1: \connect needs the name of one database`,
		"\\connect shop root":                          `line 1: \connect needs the name of one database`,
		"\\connect - root":                             `line 1: \connect needs the name of one database`,
		"\\connect -reuse-previous=on shop":            `line 1: \connect needs the name of one database`,
		"\\connect postgres://else/shop":               `line 1: \connect needs the name of one database`,
		"\\connect dbname=shop":                        `line 1: \connect needs the name of one database`,
		"\\connect `id`":                               `line 1: \connect needs the name of one database`,
		"\\connect :shop":                              `line 1: \connect needs the name of one database`,
		"\\connect shop \\\\ UPDATE a SET b = 1;":      `line 1: \connect needs the name of one database`,
		"\\connect shop; UPDATE a SET b = 1;":          `line 1: \connect needs the name of one database`,
		"\\connect \"shop":                             `line 1: \connect needs the name of one database`,
		"UPDATE a SET b = 1\n\\connect shop\n":         `line 2: \connect is inside a statement that has not ended`,
		"SELECT (1;\n\\c shop":                         `line 2: \c is inside a statement that has not ended`,
		"SELECT 1;\nSELECT 'a\n;\n":                    "line 2: a string begins that does not end",
		"SELECT E'a\\'":                                "line 1: a string begins that does not end",
		"DO $x$ BEGIN END $$;":                         "line 1: a string begins that does not end",
		"SELECT \"a;":                                  "line 1: a quoted name begins that does not end",
		"/* a /* b */ SELECT 1;":                       "line 1: a comment begins that does not end",
		"SELECT 1; /*/":                                "line 1: a comment begins that does not end",
		"COPY t (a)\nFROM STDIN;\n1\n":                 "line 2: COPY FROM STDIN",
		"SELECT 1;\nSELECT '\x00'; UPDATE a SET b = 1": "line 2: a zero byte",
	} {
		got, err := Engine{}.Statements(text)
		if err == nil || !strings.Contains(err.Error(), want) || got != nil {
			t.Errorf("%q: %q, %v; want %s", text, got, err, want)
		}
		if err != nil && strings.Contains(want, `\`) && hint.Of(err) == "" {
			t.Errorf("%q: no hint", text)
		}
	}
}

// FuzzStatements: what a mask is divided into is in it, in this order, holds no command of psql's but \connect, and is divided no more.
func FuzzStatements(f *testing.F) {
	for _, text := range []string{"\\connect shop\nUPDATE a SET b = 1;", "DO $$ BEGIN; END $$; SELECT 'a'';' /* ; */ \\g", "CREATE FUNCTION f() BEGIN ATOMIC SELECT 1; END;", "E'\\';", "$", "\\c \"a\"\"b\";\n-- x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, err := Engine{}.Statements(text)
		rest := text
		for _, s := range all {
			name, connects := strings.CutPrefix(s, `\connect `)
			at := strings.Index(rest, name)
			if at < 0 || s == "" {
				t.Fatalf("%q is divided into %q", text, all)
			}
			rest = rest[at+len(name):]
			if again, err := (Engine{}).Statements(" " + s); !connects && (err != nil || len(again) != 1) {
				t.Errorf("%q of %q is divided into %q, %v", s, text, again, err)
			}
		}
		if err != nil && all != nil {
			t.Errorf("%q: %q and %v", text, all, err)
		}
	})
}
