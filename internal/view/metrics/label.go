package metrics

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"unicode/utf8"

	"plumb/internal/product"
	"plumb/internal/stack"
	"plumb/internal/view/page"
)

// label is one label of a sample.
type label struct{ name, value string }

// mostLabel is how long a label's value may be, in bytes.
const mostLabel = 160

// clean makes a label's value of a text that a stranger may have written: one
// line of valid UTF-8 that drives no terminal. What had to be changed carries
// the beginning of its checksum, so that two things stay two.
func clean(text string) string {
	c := strings.ReplaceAll(page.Clean(strings.ToValidUTF8(text, "?")), "\n", "?")
	if c == text && len(c) <= mostLabel {
		return c
	}
	sum := sha256.Sum256([]byte(text))
	return cut(c, mostLabel-9) + "~" + hex.EncodeToString(sum[:4])
}

// cut shortens a text to n bytes, between two characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// alone are kinds of which a host has one thing.
var alone = []string{"host", "zfs", "memory"}

// labelsOf gives the labels by which a thing is known. A process is known by
// its server, which keeps its name when it is started anew; one that is no
// server's is not shown.
func labelsOf(ref stack.Ref, servers map[stack.Ref]stack.Ref) ([]label, bool) {
	switch {
	case slices.Contains(alone, ref.Kind):
		return nil, true
	case product.IsServer(ref.Kind):
		return []label{serverLabel(ref)}, true
	case ref.Kind == "process":
		server, ok := servers[ref]
		return []label{serverLabel(server)}, ok
	case ref.Kind == "block":
		return []label{{"device", clean(ref.Name)}}, true
	case ref.Kind == "cgroup_device":
		if i := strings.LastIndexByte(ref.Name, '@'); i >= 0 {
			return []label{{"cgroup", clean(ref.Name[:i])}, {"device", clean(ref.Name[i+1:])}}, true
		}
	}
	return []label{{strings.Map(nameRune, ref.Kind), clean(ref.Name)}}, true
}

func serverLabel(ref stack.Ref) label { return label{"server", clean(ref.String())} }

// processes tells of every process of a picture whose server it is.
func processes(s *stack.Stack) map[stack.Ref]stack.Ref {
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
