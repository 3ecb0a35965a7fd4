package postgres

import (
	_ "embed" // the questions
	"strings"

	"go.yaml.in/yaml/v4"
)

//go:embed questions.yaml
var questionsFile []byte

// question is one of questions.yaml, which says what its fields are for.
type question struct {
	About   string
	From    int
	Before  int
	Facts   []string
	Absent  bool
	NewOnly bool `yaml:"new_only"`
	Gone    bool
	Untold  string
	Hint    string
	SQL     string
}

func (q question) suits(major int) bool {
	return (q.From == 0 || major >= q.From) && (q.Before == 0 || major < q.Before)
}

// questions lists what is asked about a server's work.
var questions = func() (all []question) {
	if err := yaml.Unmarshal(questionsFile, &all); err != nil {
		panic(err) // it is part of the program
	}
	for i, q := range all {
		all[i].Hint = strings.ReplaceAll(q.Hint, "{grants}", grantsHint)
		all[i].SQL = strings.Join(strings.Fields(q.SQL), " ")
	}
	return all
}()
