package mongo

import (
	"slices"
	"strings"
	"testing"

	"plumb/internal/edit"
)

// What is read and what is edited must be understood alike: of a text that
// edit accepts the probe reads every value that edit knows.
func FuzzEditReadsYAMLTheSame(f *testing.F) {
	f.Add("# ü\nstorage:\n  dbPath: \"/a\"  # x\nnet: {port: 1}\nsystemLog.path: /b\nsecurity:\n")
	f.Fuzz(func(t *testing.T, text string) {
		keys, err := edit.Keys(edit.Mongod, []byte(text))
		if err != nil {
			return
		}
		options, err := parseConfig("f", []byte(text))
		if err != nil {
			t.Fatalf("%q: edit accepts it, the probe says %v", text, err)
		}
		for name, o := range options {
			if o.value != "" && !slices.Contains(keys, name+" "+o.value) {
				t.Fatalf("%q: edit reads %q, the probe %s %q", text, strings.Join(keys, ", "), name, o.value)
			}
		}
	})
}
