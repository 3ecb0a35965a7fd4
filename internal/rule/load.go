package rule

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"plumb/internal/catalog"
	"plumb/internal/strictyaml"
)

// Load reads rules/**/*.yaml. It returns the rules that are sound, together
// with every mistake in the others, joined into one error whose parts are of
// type [strictyaml.Error].
func Load(fsys fs.FS, cat *catalog.Catalog) (*Base, error) {
	sub, err := fs.Sub(fsys, "rules")
	if err != nil {
		return nil, err
	}
	b, tests, err := load(sub, "rules", cat)
	if err != nil {
		return nil, err
	}
	return b, mistakes(tests)
}

// Tested is what came of checking one rule file.
type Tested struct {
	ID       string // "" when the file gives none
	File     string
	Examples []TestedExample
	Mistakes []strictyaml.Error // examples that are judged otherwise than wanted included; none: the rule is sound
}

// TestedExample is what a rule said of one of its examples.
type TestedExample struct {
	Name string
	Want Outcome
	Got  Outcome
	Line int // 1-based, in the rule's file
}

// mistakes joins those of all files.
func mistakes(tests []Tested) error {
	var all []strictyaml.Error
	for _, t := range tests {
		all = append(all, t.Mistakes...)
	}
	return strictyaml.Join(all)
}

// Test checks every rule file of a directory and below: fsys is the directory,
// and a rule's id is its path there without .yaml. The error says that the
// directory could not be read.
func Test(fsys fs.FS, cat *catalog.Catalog) ([]Tested, error) {
	_, tests, err := load(fsys, "", cat)
	return tests, err
}

// ownArea begins the ids of rules that a user brings, so that none can be taken
// for one that is built in.
const ownArea = "own"

// Own reads the rules of a user's directory for judging beside the built-in
// ones. They pass the same tests as those, or none of them is taken: the
// error then joins every mistake, as Load's does.
func Own(fsys fs.FS, cat *catalog.Catalog) (*Base, error) {
	b, tests, err := load(fsys, "", cat)
	if err != nil {
		return nil, err
	}
	if err := mistakes(tests); err != nil {
		return nil, err
	}
	for _, r := range b.rules {
		r.ID = path.Join(ownArea, r.ID)
	}
	return newBase(b.rules), nil
}

// load reads all rule files of fsys. In messages their names get the prefix.
func load(fsys fs.FS, prefix string, cat *catalog.Catalog) (*Base, []Tested, error) {
	c, err := newCompiler(cat)
	if err != nil {
		return nil, nil, err
	}
	names, err := ruleFiles(fsys)
	if err != nil {
		return nil, nil, err
	}
	rules, tests := make([]*Rule, len(names)), make([]Tested, len(names))
	each(len(names), func(i int) {
		file := path.Join(prefix, names[i])
		data, err := readFile(fsys, names[i])
		if err != nil {
			tests[i] = Tested{File: file, Mistakes: []strictyaml.Error{{File: file, Line: 1, Col: 1, Msg: err.Error()}}}
			return
		}
		rules[i], tests[i] = c.file(file, strings.TrimSuffix(names[i], ".yaml"), data)
	})
	return newBase(rules), tests, nil
}

// each calls f with 0 to n-1, on all CPUs.
func each(n int, f func(int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				f(int(i))
			}
		})
	}
	all.Wait()
}

func newBase(rules []*Rule) *Base {
	base := &Base{byID: map[string]*Rule{}}
	for _, r := range rules {
		if r != nil {
			base.rules = append(base.rules, r)
			base.byID[r.ID] = r
		}
	}
	slices.SortFunc(base.rules, func(a, b *Rule) int { return cmp.Compare(a.ID, b.ID) })
	return base
}

// ruleFiles lists the rule files of a directory and below, sorted.
func ruleFiles(fsys fs.FS) ([]string, error) {
	var names []string
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && path.Ext(name) == ".yaml" {
			names = append(names, name)
		}
		return err
	})
	return names, err
}

// maxFile is how long a rule's file may be: fifty times our longest.
const maxFile = 512 << 10

// readFile reads a file of rules. A directory that a user names may hold what
// is no file, and reading a named pipe would never end.
func readFile(fsys fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(fsys, name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%d bytes are more than a rule has: at most %d", info.Size(), maxFile)
	}
	return fs.ReadFile(fsys, name)
}

// file reads one rule; it is nil when there is any mistake in it.
func (c *compiler) file(file, id string, data []byte) (*Rule, Tested) {
	tested := Tested{File: file}
	s, root := strictyaml.Parse(file, data)
	if root == nil {
		tested.Mistakes = s.Errors()
		return nil, tested
	}
	d := &reader{doc: s, compiler: c, rule: &Rule{File: file, cat: c.cat}}
	d.read(root, id)
	tested.ID = d.rule.ID
	if len(s.Errors()) == 0 {
		tested.Examples = d.tryExamples()
	}
	if tested.Mistakes = s.Errors(); len(tested.Mistakes) > 0 {
		return nil, tested
	}
	return d.rule, tested
}
