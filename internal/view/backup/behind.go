package backup

import (
	"fmt"

	"plumb/internal/archive"
	"plumb/internal/units"
)

// Behind warns of a base without its log: what can be restored then, and what not.
func Behind(b archive.Behind) string {
	why := "the archive has no log for this base backup"
	switch {
	case b.Doubt != "":
		why = "what the archive has in place of the log of this base backup is not its log (" + b.Doubt + ")"
	case b.Log:
		why = "so far, the archive lacks the log position at which this base backup begins"
	}
	return why + ": " + alone(b) + ". plumb archive run archives the log, and plumb archive status shows its state"
}

// alone says what a base is without its log.
func alone(b archive.Behind) string {
	switch {
	case b.Alone == nil:
		return "at best it can be restored as it was when it ended"
	case *b.Alone:
		return "it can be restored as it was when it ended, and to no later moment"
	}
	return "without the log no server starts on it"
}

// CopiedBehind warns of bases that were copied to a place where their log is not; "" where there are none.
func CopiedBehind(to string, all map[string]archive.Behind) string {
	lacking, dead := 0, 0
	for _, b := range all {
		if b.Archived {
			continue
		}
		if lacking++; b.Alone != nil && !*b.Alone {
			dead++
		}
	}
	what := "such a base backup can be restored as it was when it ended, at best"
	switch {
	case lacking == 0:
		return ""
	case dead == lacking:
		what = "no server starts on such a base backup"
	case dead > 0:
		what = fmt.Sprintf("no server starts on %d of them", dead)
	}
	return fmt.Sprintf("the archived log of %s is not in %s, because it is not copied: without the log, %s", units.Count(lacking, "base backup"), to, what)
}

// short says the same in a list.
func short(b archive.Behind) string {
	text := "no log archived for it"
	if b.Alone != nil && !*b.Alone {
		text += ", without which no server starts on it"
	}
	if b.Doubt != "" {
		text += " (" + b.Doubt + ")"
	}
	return text
}
