package host

import (
	"errors"
	"fmt"
	"strings"
)

// ErrWithheld says that a password was not told to a server, and why. It is a
// refused login too.
var ErrWithheld error = kindError{"password withheld", ErrLogin}

// Withhold makes the error of a password that is not told, with the reason.
func Withhold(format string, args ...any) error {
	return kindError{fmt.Sprintf(format, args...), ErrWithheld}
}

// Withheld finds the reason why a password was withheld in an error that a
// driver has wrapped; nil when none was.
func Withheld(err error) error {
	if k, ok := errors.AsType[kindError](err); ok && k.kind == ErrWithheld {
		return k
	}
	return nil
}

// Refused makes one error of the ways to log in that did not work: which
// passwords were withheld, and what the server said to the first. Its kind is
// ErrWithheld when one was, and otherwise ErrLogin.
func Refused(address string, refused []error) error {
	var said, kept []error
	for _, err := range refused {
		switch {
		case errors.Is(err, ErrWithheld):
			kept = append(kept, err)
		case errors.Is(err, ErrLogin):
			said = append(said, err)
		}
	}
	if len(said) > 1 {
		said = said[:1]
	}
	switch {
	case len(said)+len(kept) > 0:
		refused = append(kept, said...)
	case len(refused) > 0:
		refused = refused[:1]
	default:
		refused = []error{errors.New("no way to log in is known")}
	}
	var text []string
	for _, err := range refused {
		text = append(text, err.Error())
	}
	kind := ErrLogin
	if len(kept) > 0 {
		kind = ErrWithheld
	}
	told := strings.Join(text, "; ")
	if len(said)+len(kept) == 0 {
		told = ErrLogin.Error() + ": " + told
	}
	return kindError{"log in to " + address + ": " + told, kind}
}
