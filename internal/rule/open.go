package rule

import (
	"errors"
	"io/fs"
	"path"
	"strings"
	"sync"

	"plumb/internal/catalog"
	"plumb/internal/strictyaml"
)

// Open reads rules that were tested before, as the built-in ones were, for
// judging: Explain and Examples stay empty, and an expression is compiled when
// it is first asked, because most of a host's rules are about things it does
// not have, and few of the rest fire. A mistake in a file leaves out its rule,
// one in an expression makes the rule's verdicts unknown.
func Open(fsys fs.FS, cat *catalog.Catalog) (*Base, error) {
	sub, err := fs.Sub(fsys, "rules")
	if err != nil {
		return nil, err
	}
	c, err := newCompiler(cat)
	if err != nil {
		return nil, err
	}
	names, err := ruleFiles(sub)
	if err != nil {
		return nil, err
	}
	rules, mistakes := make([]*Rule, len(names)), make([]error, len(names))
	each(len(names), func(i int) {
		data, err := fs.ReadFile(sub, names[i])
		if err != nil {
			mistakes[i] = err
			return
		}
		rules[i], mistakes[i] = c.open(path.Join("rules", names[i]), strings.TrimSuffix(names[i], ".yaml"), data)
	})
	return newBase(rules), errors.Join(mistakes...)
}

// open reads one rule and leaves its expressions for later.
func (c *compiler) open(file, id string, data []byte) (*Rule, error) {
	d, err := c.written(file, id, strictyaml.Without(data, "explain", "examples"), requiredKeys[:len(requiredKeys)-2])
	if err != nil {
		return nil, err
	}
	r := d.rule
	r.ready = sync.OnceValue(func() error { d.condition(); return d.doc.Err() })
	r.speak = sync.OnceValue(func() error { d.texts(); return d.doc.Err() })
	return r, nil
}

// written reads what is written in one rule and compiles nothing.
func (c *compiler) written(file, id string, data []byte, required []string) (*reader, error) {
	s, root := strictyaml.Parse(file, data)
	if root == nil {
		return nil, s.Err()
	}
	d := &reader{doc: s, compiler: c, rule: &Rule{File: file, cat: c.cat}}
	d.fields(root, id, required)
	return d, s.Err()
}
