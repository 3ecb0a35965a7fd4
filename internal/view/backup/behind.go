package backup

import "plumb/internal/archive"

// Behind warns of a base without its log: what can be restored then, and what not.
func Behind(b archive.Behind) string {
	why := "no log is archived beside this base backup"
	switch {
	case b.Doubt != "":
		why = "what lies beside this base backup in the place of its log is not the log (" + b.Doubt + ")"
	case b.Log:
		why = "so far, the archive beside this base backup lacks the log position at which it begins"
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

// short says the same in a list.
func short(b archive.Behind) string {
	text := "no log archived beside it"
	if b.Alone != nil && !*b.Alone {
		text += ", without which no server starts on it"
	}
	if b.Doubt != "" {
		text += " (" + b.Doubt + ")"
	}
	return text
}
