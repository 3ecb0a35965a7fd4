package hint

import "errors"

// Usage is a mistake of the person who typed a command or called for a check:
// nothing was looked at, and nothing done. help says what would be right.
func Usage(text, help string) error { return &usage{text, help} }

// AsUsage finds such a mistake in an error; nil when it is of the machine.
func AsUsage(err error) error {
	if u, ok := errors.AsType[*usage](err); ok {
		return u
	}
	return nil
}

type usage struct{ text, help string }

func (u *usage) Error() string { return u.text }
func (u *usage) Hint() string  { return u.help }
