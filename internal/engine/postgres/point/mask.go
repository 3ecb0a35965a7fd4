package point

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/load"
)

// ForMasks implements clone.Masker: a mask means tables as its database names them, and what its triggers and foreign
// keys do is to be done too.
func (Engine) ForMasks(ctx context.Context, a load.Admin) error {
	return a.Exec(ctx, "RESET search_path", "RESET session_replication_role", "RESET row_security")
}

// Statements implements clone.Masker. A script is divided as psql does it (psqlscan.l): a statement ends with a ; outside of
// quotes, parentheses, comments and BEGIN ATOMIC, a meta-command with its line.
func (Engine) Statements(text string) ([]string, error) {
	s := psqlScript{text: strings.TrimPrefix(text, "\ufeff")}
	if at := strings.IndexByte(s.text, 0); at >= 0 {
		return nil, s.wrong(at, "a zero byte, which no SQL has")
	}
	for s.at < len(s.text) {
		if err := s.step(); err != nil {
			return nil, err
		}
	}
	s.end(s.at)
	return s.all, nil
}

// psqlScript is one that is being divided.
type psqlScript struct {
	text  string
	at    int // what is read next
	began int // the statement that is being read
	all   []string
	reading
}

// reading is what is known of the statement that is being read.
type reading struct {
	begun  bool   // there is more of it than blanks and comments
	first  string // word; "" when it begins with anything else
	last   string // word; "" after anything else
	parens int    // that are open
	blocks int    // BEGIN ATOMIC, and CASE in it, that are open
}

// step reads one element.
func (s *psqlScript) step() error {
	rest := s.text[s.at:]
	if rest[0] == '\\' {
		return s.meta()
	}
	size, what := element(rest)
	if size < 0 {
		return s.wrong(s.at, "a %s begins that does not end", what)
	}
	at := s.at
	s.at += size
	switch {
	case what == aBlank || what == aComment:
		return nil
	case what == aWord:
		return s.word(strings.ToLower(rest[:size]))
	case rest[0] == ';' && s.parens == 0 && s.blocks == 0:
		s.end(at)
		return nil
	case rest[0] == '(':
		s.parens++
	case rest[0] == ')':
		s.parens = max(s.parens-1, 0)
	}
	s.begun, s.last = true, ""
	return nil
}

// word notes a word, by which it is known where a ; ends nothing, and what would wait for rows that never come.
func (s *psqlScript) word(w string) error {
	switch {
	case !s.begun:
		s.first = w
	case w == "atomic" && s.last == "begin", w == "case" && s.blocks > 0:
		s.blocks++
	case w == "end" && s.blocks > 0:
		s.blocks--
	case w == "stdin" && s.last == "from" && s.first == "copy":
		return hint.With(s.wrong(s.at, "COPY FROM STDIN, whose rows a mask cannot contain"), "write them as INSERT, or in a file that the server reads")
	}
	s.begun, s.last = true, w
	return nil
}

// end ends a statement before a place, and begins the next.
func (s *psqlScript) end(at int) {
	if s.begun {
		s.all = append(s.all, strings.Trim(s.text[s.began:at], blanks))
	}
	s.began, s.reading = s.at, reading{}
}

// connectLine goes to another database. A user, a host and a connection string are not taken: a mask stays in its copy.
var connectLine = regexp.MustCompile("^\\\\(?:c|connect)[ \t]+(\"(?:[^\"]|\"\")+\"|[^-\\s\"'`:;=\\\\][^\\s\"'`:;=\\\\]*)[ \t]*;*[ \t\r]*$")

// metaCommand is the name of one.
var metaCommand = regexp.MustCompile(`^\\(?:[a-zA-Z_]+|[!-~]?)`)

// meta reads a meta-command, which ends with its line.
func (s *psqlScript) meta() error {
	line, _, _ := strings.Cut(s.text[s.at:], "\n")
	name, to := metaCommand.FindString(line), connectLine.FindStringSubmatch(line)
	switch {
	case name != `\c` && name != `\connect`:
		return hint.With(s.wrong(s.at, "%s is a command of psql, not SQL", name),
			`of psql's commands a mask knows \connect NAME alone. It ends with the first error in any case`)
	case to == nil:
		return hint.With(s.wrong(s.at, "%s needs the name of one database, and nothing else", name), `put a name with other characters than letters, digits and _ into double quotes`)
	case s.begun:
		return hint.With(s.wrong(s.at, "%s is inside a statement that has not ended", name), "end what is before it with a ;")
	}
	s.all = append(s.all, `\connect `+to[1])
	s.at += len(line)
	s.began = s.at
	return nil
}

// wrong says what is wrong at a place.
func (s *psqlScript) wrong(at int, format string, args ...any) error {
	return fmt.Errorf("line %d: %s", 1+strings.Count(s.text[:at], "\n"), fmt.Sprintf(format, args...))
}
