package observe

import (
	"plumb/internal/catalog"
	"plumb/internal/stack"
)

// VersionsProbe is the probe of gaps about versions that Plumb does not know.
const VersionsProbe = "versions"

// TellVersions leaves a gap for each thing of a version that the catalogue
// does not know. Newer ones are judged as the last known one, older ones only
// by rules that speak of them.
func TellVersions(s *stack.Stack, cat *catalog.Catalog) {
	for _, t := range s.Things {
		if why := cat.Standing(t).Say(t.Text("version")); why != "" {
			s.Gaps = append(s.Gaps, stack.Gap{Probe: VersionsProbe, Of: t.Ref, Why: why})
		}
	}
}
