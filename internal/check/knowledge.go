package check

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"plumb/internal/advise"
	"plumb/internal/catalog"
	"plumb/internal/hint"
	"plumb/internal/rule"
	"plumb/internal/stack"
	"plumb/knowledge"
)

// Knowledge is what a check judges with.
type Knowledge struct {
	Catalog     *catalog.Catalog
	Rules       *rule.Base
	Choice      Choice
	Plumb       string // version of this program, for its reports
	AllowUnsafe bool   // propose also values that are less durable than those in force
}

// Warn is told what went wrong without ending the command: a mistake in one
// built-in rule (a test would have found it) costs that rule alone. err is nil
// where nothing did.
type Warn func(what string, err error)

// Load reads the built-in catalogue and rules, and those of a user's directory
// beside them; own is nil where there is none.
func Load(c Choice, own *Own, warn Warn) (Knowledge, error) {
	cat, err := Catalog(All, warn)
	if err != nil {
		return Knowledge{}, err
	}
	ids, theirs := RuleIDs(), new(rule.Base)
	if own != nil {
		if theirs, err = own.Read(cat); err != nil {
			return Knowledge{}, err
		}
		for _, r := range theirs.Rules() {
			ids = append(ids, r.ID)
		}
	}
	if err := c.Validate(ids, cat); err != nil {
		return Knowledge{}, err
	}
	rules, err := rule.Open(knowledge.FS, cat)
	if rules == nil {
		return Knowledge{}, fmt.Errorf("read the built-in rules: %w", err)
	}
	warn("a built-in rule was left out", err)
	return Knowledge{Catalog: cat, Rules: rules.With(theirs), Choice: c}, nil
}

// All wants every file of the catalogue.
func All([]byte) bool { return true }

// Catalog reads all built-in facts and those files of knobs that are wanted.
func Catalog(wanted func(text []byte) bool, warn Warn) (*catalog.Catalog, error) {
	cat, err := catalog.LoadPart(knowledge.FS, wanted)
	if cat == nil {
		return nil, fmt.Errorf("read the built-in catalogue: %w", err)
	}
	warn("the built-in catalogue has a mistake", err)
	return cat, nil
}

// RuleIDs lists the built-in rules by their file names, without reading them.
func RuleIDs() []string {
	var ids []string
	err := fs.WalkDir(knowledge.FS, "rules", func(name string, _ fs.DirEntry, err error) error {
		if id, ok := strings.CutSuffix(name, ".yaml"); ok {
			ids = append(ids, strings.TrimPrefix(id, "rules/"))
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		panic(err) // the files are in the program itself
	}
	return ids
}

// Judge asks the rules about a stack and makes a report of the answers.
func (k Knowledge) Judge(s *stack.Stack) Report {
	verdicts := k.Verdicts(s)
	a := advise.From(verdicts, s, k.Catalog, advise.Options{AllowUnsafe: k.AllowUnsafe})
	a.Foretold = advise.Foretell(k.Verdicts, verdicts, a, s, k.Catalog)
	return Report{Stack: s, Catalog: k.Catalog, Plumb: k.Plumb, Judged: judged(verdicts), Advice: a}
}

// judged counts the rules that gave an answer. Rules about products that are
// not here, and rules that are unknown everywhere, judged nothing.
func judged(verdicts []rule.Evaluation) int {
	rules := map[*rule.Rule]bool{}
	for _, v := range verdicts {
		if v.Outcome != rule.Unknown {
			rules[v.Rule] = true
		}
	}
	return len(rules)
}

// Explain gives the text that explains a rule; "" when it has none. Built-in rules
// are read without it, for judging.
func (k Knowledge) Explain(r *rule.Rule) string {
	if r.Explain != "" {
		return r.Explain
	}
	whole, err := rule.Read(knowledge.FS, k.Catalog, r.ID)
	if err != nil {
		return "" // a user's own rule, which was read whole
	}
	return whole.Explain
}

// Verdicts asks the rules that were chosen.
func (k Knowledge) Verdicts(s *stack.Stack) []rule.Evaluation {
	return slices.DeleteFunc(k.Rules.Judge(s), func(v rule.Evaluation) bool { return !k.Choice.Keeps(v) })
}

// Own is a directory with a user's rules.
type Own struct {
	Name  string
	Files fs.FS
}

// Read reads them. One mistake refuses them all: a rule that is silently left
// out would pass for a host in order.
func (o *Own) Read(cat *catalog.Catalog) (*rule.Base, error) {
	base, err := rule.Own(o.Files, cat)
	if err != nil {
		first, more, _ := strings.Cut(err.Error(), "\n")
		if more != "" {
			first += fmt.Sprintf(" (and %d more)", strings.Count(more, "\n")+1)
		}
		return nil, hint.With(fmt.Errorf("read the rules in %s: %s", o.Name, first), "plumb rules test "+o.Name+" shows every mistake")
	}
	if len(base.Rules()) == 0 {
		return nil, hint.With(fmt.Errorf("read the rules in %s: there are none", o.Name), "a rule is a file such as DIR/mysql/my-rule.yaml")
	}
	return base, nil
}
