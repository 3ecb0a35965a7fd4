package sample

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"

	"plumb/internal/host"
)

// Own is a reader that remembers what it asked of servers, so that what Plumb
// itself costs a server is not taken for somebody else's statements.
type Own struct {
	host.Reader
	mu    sync.Mutex
	asked map[string]bool // by the words of the statement
}

// NewOwn makes one in front of a reader whose sessions these dialers open.
func NewOwn(r host.Reader, by map[string]host.Dialer) *Own {
	o := &Own{Reader: r, asked: map[string]bool{}}
	for _, d := range by {
		if d, ok := d.(host.Opener); ok {
			o.note(d.Opens()...)
		}
	}
	return o
}

// mostAsked bounds what is remembered: some questions have a list of ids in them.
const mostAsked = 2000

// Query implements [host.Reader].
func (o *Own) Query(ctx context.Context, t host.Target, query string) (host.Rows, error) {
	o.note(query)
	return o.Reader.Query(ctx, t, query)
}

func (o *Own) note(queries ...string) {
	var keys []string
	for _, q := range queries {
		keys = append(keys, words(q))
	}
	o.Learn(keys)
}

// Asked gives the words of all that was asked, for another process to learn.
func (o *Own) Asked() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Sorted(maps.Keys(o.asked))
}

// Learn notes what was asked, by another process of ours too.
func (o *Own) Learn(asked []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, key := range asked {
		if len(o.asked) < mostAsked && key != "" {
			o.asked[key] = true
		}
	}
}

// Has tells whether a statement, as a server shows it without its literals, is
// one of those that were asked. One that the server cut is known by how it begins.
func (o *Own) Has(text string) bool {
	key := words(text)
	if key == "" {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.asked[key] {
		return true
	}
	if len(text) < cutAt && !strings.HasSuffix(text, " ...") {
		return false
	}
	key = key[:max(0, strings.LastIndexByte(key, ' '))] // its last word may be half of one
	if strings.Count(key, " ") < fewest {
		return false
	}
	for q := range o.asked {
		if strings.HasPrefix(q, key) {
			return true
		}
	}
	return false
}

// A text of this length may have been cut, and so many words tell statements apart.
const (
	cutAt  = 290
	fewest = 12
)

// SameWords tells whether two texts are of one statement: one with its literals
// and one without, say.
func SameWords(a, b string) bool {
	w := words(a)
	return w != "" && w == words(b)
}

// words are what of a statement is the same before and after a server took its
// literals out: its words in lower case. Numbers and strings go, and so do the
// words that are values: also that after extract, which PostgreSQL since 14 shows as $1.
func words(query string) string {
	var out []string
	field := false // the next word is that of extract
	for i, part := range strings.Split(query, "'") {
		if i%2 == 1 {
			continue // a string
		}
		for _, w := range strings.FieldsFunc(strings.ToLower(part), func(r rune) bool { return r != '_' && r != '$' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			w = strings.TrimPrefix(w, "sql_tsi_") // MariaDB calls the word DAY so, whatever it is the name of
			if w == "distinctrow" {
				w = "distinct" // it is called so there
			}
			skip := field && w != "from"
			field = w == "extract"
			if w != "" && !skip && w != "null" && w != "true" && w != "false" && w[0] != '$' && !unicode.IsDigit(rune(w[0])) {
				out = append(out, w)
			}
		}
	}
	return strings.Join(out, " ")
}
