package experiment

import (
	"bytes"
	"errors"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// File is an experiment as its file is written, in the order in which people read it.
type File struct {
	Experiment string        `yaml:"experiment"`
	Question   string        `yaml:"question"`
	Source     string        `yaml:"source,omitempty"`
	Notes      string        `yaml:"notes,omitempty"`
	Base       Setup         `yaml:"base"`
	Arms       []FileArm     `yaml:"arms"`
	Compare    []FilePair    `yaml:"compare,omitempty"`
	Baseline   string        `yaml:"baseline,omitempty"`
	Design     string        `yaml:"design,omitempty"`
	Blocks     FileBlocks    `yaml:"blocks,flow"`
	Measure    FileMeasure   `yaml:"measure,flow"`
	Until      string        `yaml:"until,omitempty"`
	Budget     time.Duration `yaml:"budget,omitempty"`
	Metric     string        `yaml:"metric,omitempty"`
	Margin     string        `yaml:"margin,omitempty"`
	Checks     []string      `yaml:"checks,flow,omitempty"`
	Seed       *uint64       `yaml:"seed,omitempty"` // nil: by the name
}

// FileArm is an arm, and what it sets: path to value.
type FileArm struct {
	Name string            `yaml:"name"`
	Set  map[string]string `yaml:"set"`
}

// FilePair is an arm and what it is compared with.
type FilePair [2]string

// MarshalYAML writes a pair on one line.
func (p FilePair) MarshalYAML() (any, error) {
	var n yaml.Node
	err := n.Encode([]string{p[0], p[1]})
	n.Style = yaml.FlowStyle
	return &n, err
}

// FileBlocks is how many blocks there are.
type FileBlocks struct {
	Least int `yaml:"least"`
	Most  int `yaml:"most"`
}

// FileMeasure is how long a trial is driven.
type FileMeasure struct {
	Fill     time.Duration `yaml:"fill,omitempty"`
	Warmup   time.Duration `yaml:"warmup"`
	Time     time.Duration `yaml:"time"`
	Unsteady bool          `yaml:"unsteady,omitempty"`
}

// Encode writes the file, with some lines of comment before it.
func (f File) Encode(head ...string) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("# " + strings.Join(head, "\n# ") + "\n")
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	err := errors.Join(e.Encode(f), e.Close())
	return b.Bytes(), err
}
