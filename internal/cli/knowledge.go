package cli

import (
	"fmt"
	"slices"
	"strings"

	"plumb/internal/advise"
	"plumb/internal/catalog"
	"plumb/internal/rule"
	"plumb/internal/stack"
	"plumb/internal/view"
	"plumb/knowledge"
)

// know is what a check judges with.
type know struct {
	catalog *catalog.Catalog
	rules   *rule.Base
	choice  choice
	asked   int // rules the choice leaves
}

// loadKnowledge reads the built-in catalogue and rules. A mistake in one
// rule (a test would have found it) is said, and costs that rule alone.
func (a *app) loadKnowledge(c choice) (know, error) { return a.loadKnowledgeAnd(c, "") }

// loadKnowledgeAnd reads the rules of a user's directory too; "" is none.
func (a *app) loadKnowledgeAnd(c choice, dir string) (know, error) {
	cat, err := a.loadCatalog()
	if err != nil {
		return know{}, err
	}
	ids, own := ruleIDs(), new(rule.Base)
	if dir != "" {
		if own, err = ownRules(dir, cat); err != nil {
			return know{}, err
		}
		for _, r := range own.Rules() {
			ids = append(ids, r.ID)
		}
	}
	if err := c.validate(ids, cat); err != nil {
		return know{}, err
	}
	rules, err := rule.Open(knowledge.FS, cat)
	if rules == nil {
		return know{}, fmt.Errorf("read the built-in rules: %w", err)
	}
	a.warn("a built-in rule was left out", err)
	rules = rules.With(own)
	k := know{catalog: cat, rules: rules, choice: c}
	for _, r := range rules.Rules() {
		if c.lists(r) {
			k.asked++
		}
	}
	return k, nil
}

func (a *app) loadCatalog() (*catalog.Catalog, error) {
	return a.partOfCatalog(func([]byte) bool { return true })
}

// partOfCatalog reads all facts and those files of knobs that are wanted.
func (a *app) partOfCatalog(wanted func(text []byte) bool) (*catalog.Catalog, error) {
	cat, err := catalog.LoadPart(knowledge.FS, wanted)
	if cat == nil {
		return nil, fmt.Errorf("read the built-in catalogue: %w", err)
	}
	a.warn("the built-in catalogue has a mistake", err)
	return cat, nil
}

// warn says on standard error what went wrong without ending the command.
func (a *app) warn(what string, err error) {
	if err != nil {
		first, more, _ := strings.Cut(err.Error(), "\n")
		if n := strings.Count(more, "\n"); more != "" {
			first += fmt.Sprintf(" (and %d more)", n+1)
		}
		fmt.Fprintf(a.err, "plumb: %s: %s\n", what, oneLine(first))
	}
}

// judge asks the rules about a stack and makes a report of the answers.
func (k know) judge(s *stack.Stack, allowUnsafe bool) view.Report {
	verdicts := k.verdicts(s)
	a := advise.From(verdicts, s, k.catalog, advise.Options{AllowUnsafe: allowUnsafe})
	a.Foretold = advise.Foretell(k.verdicts, verdicts, a, s, k.catalog)
	return view.Report{Stack: s, Catalog: k.catalog, Plumb: programVersion(), Judged: k.asked, Advice: a}
}

// verdicts asks the rules that were chosen.
func (k know) verdicts(s *stack.Stack) []rule.Verdict {
	return slices.DeleteFunc(k.rules.Judge(s), func(v rule.Verdict) bool { return !k.choice.keeps(v) })
}
