package naming

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"unicode/utf8"

	"plumb/internal/product"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/view/page"
)

// Label is one label of a sample.
type Label struct{ Name, Value string }

// mostLabel is how long a label's value may be, in bytes.
const mostLabel = 160

// Clean makes a label's value of a text that a stranger may have written: one
// line of valid UTF-8 that drives no terminal. What had to be changed carries
// the beginning of its checksum, so that two things stay two.
func Clean(text string) string {
	c := strings.ReplaceAll(page.Clean(strings.ToValidUTF8(text, "?")), "\n", "?")
	if c == text && len(c) <= mostLabel {
		return c
	}
	sum := sha256.Sum256([]byte(text))
	return Cut(c, mostLabel-9) + "~" + hex.EncodeToString(sum[:4])
}

// Cut shortens a text to n bytes, between two characters.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Alone are kinds of which a host has one thing.
var Alone = []string{"host", "zfs", "memory"}

// LabelsOf gives the labels by which a thing is known. A process is known by
// its server, which keeps its name when it is started anew; one that is no
// server's is not shown.
func LabelsOf(ref stack.Ref, servers map[stack.Ref]stack.Ref) ([]Label, bool) {
	switch {
	case slices.Contains(Alone, ref.Kind):
		return nil, true
	case product.IsServer(ref.Kind):
		return []Label{ServerLabel(ref)}, true
	case ref.Kind == "process":
		server, ok := servers[ref]
		return []Label{ServerLabel(server)}, ok
	case ref.Kind == "block":
		return []Label{{"device", Clean(ref.Name)}}, true
	case ref.Kind == "cgroup_device":
		if i := strings.LastIndexByte(ref.Name, '@'); i >= 0 {
			return []Label{{"cgroup", Clean(ref.Name[:i])}, {"device", Clean(ref.Name[i+1:])}}, true
		}
	}
	if server, name, ok := series.SplitPart(ref); ok {
		return []Label{{ref.Kind, Clean(name)}, ServerLabel(server)}, true
	}
	return []Label{{strings.Map(nameRune, ref.Kind), Clean(ref.Name)}}, true
}

// ServerLabel is the label by which a server is known.
func ServerLabel(ref stack.Ref) Label { return Label{"server", Clean(ref.String())} }

// Servers tells of every process of a picture whose server it is.
func Servers(s *stack.Stack) map[stack.Ref]stack.Ref {
	all := map[stack.Ref]stack.Ref{}
	for _, kind := range product.Kinds() {
		for _, t := range s.OfKind(kind) {
			of, _ := s.Follow(t, "process")
			for _, p := range of {
				all[p.Ref] = t.Ref
			}
		}
	}
	return all
}
