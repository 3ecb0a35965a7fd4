package incident

import (
	"cmp"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/watch/verdict"
	"plumb/knowledge"
)

// verdicts lists the verdicts that a capture can wait for.
func verdicts() []string { return verdict.IDs(knowledge.FS) }

// notOne is the error for a name that is not that of a verdict.
func notOne(id string) error {
	return hint.Usage("--on "+id+" is not a verdict", cmp.Or(hint.Meant(id, verdicts()), "use one of "+strings.Join(verdicts(), ", ")))
}
