package coverage

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/rule"
	"plumb/internal/strictyaml"
)

// file has the records, below the tree of what Plumb knows.
const file = "coverage.yaml"

// head is what the file begins with.
const head = `# On which real hosts each rule was judged to an answer, over the versions it
# speaks of. A program writes this file: go run ./test/coverage -write. What has a day
# was read live on that day; the rest is found again from the tapes in fixtures/.
`

// Read reads all records. It returns what is sound, together with every
// mistake, joined into one error whose parts are of type [strictyaml.Error].
func Read(fsys fs.FS) (Records, error) {
	data, err := fs.ReadFile(fsys, file)
	if err != nil {
		return nil, fmt.Errorf("read on what rules were tested: %w", err)
	}
	return parse(data)
}

// ReadOne reads the record of one rule, and no other: a page that a person
// waits for wants one. The record is empty when the rule was tested on nothing.
func ReadOne(fsys fs.FS, id string) (Record, error) {
	data, err := fs.ReadFile(fsys, file)
	if err != nil {
		return Record{}, fmt.Errorf("read on what rules were tested: %w", err)
	}
	text, found := strictyaml.Only(data, id)
	if !found {
		return Record{}, nil
	}
	records, err := parse(text)
	return records[id], err
}

func parse(data []byte) (Records, error) {
	s, root := strictyaml.Parse(file, data)
	if root == nil {
		return nil, s.Err()
	}
	all := Records{}
	s.Entries(root, "the file", func(key, value *strictyaml.Node) {
		before := len(s.Errors())
		r := record(s, value)
		if len(s.Errors()) == before {
			all[key.Value] = r
		}
	})
	return all, s.Err()
}

var conditionForm = regexp.MustCompile(`^[0-9a-f]{12}$`)

func record(s *strictyaml.Document, n *strictyaml.Node) (r Record) {
	s.Object(n, "a record", strictyaml.Fields{
		"condition": func(n *strictyaml.Node) {
			if r.Condition = s.Text(n, "condition"); !conditionForm.MatchString(r.Condition) {
				s.Errorf(n, "condition is twelve hexadecimal digits")
			}
		},
		"met": func(n *strictyaml.Node) {
			s.Items(n, "met", func(n *strictyaml.Node) { r.Met = append(r.Met, meeting(s, n)) })
			if len(r.Met) == 0 {
				s.Errorf(n, "a rule that has met nothing has no record")
			}
		},
	}, "condition", "met")
	return r
}

func meeting(s *strictyaml.Document, n *strictyaml.Node) (m Meeting) {
	s.Object(n, "a meeting", strictyaml.Fields{
		"on": func(n *strictyaml.Node) {
			for _, text := range s.Texts(n, "on") {
				name, version, _ := strings.Cut(text, " ")
				if v, err := catalog.ParseVersion(version); version != "" && (err != nil || v.String() != version) {
					s.Errorf(n, "%q is not a product: write a name, and numbers with dots where they are known", text)
				}
				m.On = append(m.On, Product{name, version})
			}
		},
		"says": func(n *strictyaml.Node) {
			m.Says = rule.Outcome(s.OneOf(n, "says", string(rule.Fires), string(rule.Quiet)))
		},
		"host": func(n *strictyaml.Node) {
			if m.Host = s.Text(n, "host"); m.Host == "" {
				s.Errorf(n, "host says where it was")
			}
		},
		"day": func(n *strictyaml.Node) {
			m.Day = s.Text(n, "day")
			if _, err := time.Parse(time.DateOnly, m.Day); err != nil {
				s.Errorf(n, "a day is written as 2026-11-21")
			}
		},
	}, "on", "says", "host")
	return m
}

// plainWord matches what YAML reads as it is written.
var plainWord = regexp.MustCompile(`^[A-Za-z][\w./-]*$`)

// Text writes the records as the file has them.
func (r Records) Text() []byte {
	var b bytes.Buffer
	b.WriteString(head)
	if len(r) == 0 {
		b.WriteString("{}\n")
	}
	for _, id := range slices.Sorted(maps.Keys(r)) {
		fmt.Fprintf(&b, "\n%s:\n  condition: %q\n  met:\n", id, r[id].Condition)
		for _, m := range r[id].Met {
			names := make([]string, len(m.On))
			for i, p := range m.On {
				names[i] = p.String()
			}
			where := m.Host
			if !plainWord.MatchString(where) {
				where = fmt.Sprintf("%q", where)
			}
			fmt.Fprintf(&b, "    - {on: [%s], says: %s, host: %s", strings.Join(names, ", "), m.Says, where)
			if m.Day != "" {
				fmt.Fprintf(&b, ", day: %s", m.Day)
			}
			b.WriteString("}\n")
		}
	}
	return b.Bytes()
}
