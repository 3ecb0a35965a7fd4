package stack

import (
	"encoding/json"
	"testing"

	"plumb/internal/view/viewtest"
)

func FuzzParse(f *testing.F) {
	whole, err := json.Marshal(Document(viewtest.ZfsHost(), "test"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add([]byte(`{"plumb":1,"kind":"stack","stack":{"things":[null]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		for _, thing := range s.Things {
			if s.Find(thing.Ref) == nil {
				t.Errorf("%s is there and is not found", thing.Ref)
			}
		}
	})
}
