package host

import (
	"errors"
	"fmt"
	"strings"
)

// ErrWithheld says that we did not send a password to a server, because that was not safe. It is also an ErrLogin.
var ErrWithheld error = kindError{"password withheld", ErrLogin}

// Withhold makes an ErrWithheld with the reason.
func Withhold(format string, args ...any) error {
	return kindError{fmt.Sprintf(format, args...), ErrWithheld}
}

// Withheld finds the ErrWithheld in an error that a driver has wrapped; nil if there is none.
func Withheld(err error) error {
	if k, ok := errors.AsType[kindError](err); ok && k.kind == ErrWithheld {
		return k
	}
	return nil
}

// Refused makes one error of those of all logins that were tried. It contains every ErrWithheld and the first of the server's refusals.
// It is an ErrWithheld if there is one, and otherwise an ErrLogin.
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
