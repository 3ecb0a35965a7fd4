package host

import (
	"errors"
	"strings"
	"testing"
)

func TestWithheldComesFirst(t *testing.T) {
	kept := kindError{"the password of f is withheld, because x", ErrWithheld}
	said := kindError{"as root: no", ErrLogin}
	err := Refused("/s", []error{errors.New("no file"), said, kept, said})
	if want := "log in to /s: the password of f is withheld, because x; as root: no"; err.Error() != want || !errors.Is(err, ErrWithheld) {
		t.Errorf("%v", err)
	}
	if err := Refused("/s", []error{errors.New("no file"), said}); err.Error() != "log in to /s: as root: no" || errors.Is(err, ErrWithheld) || !errors.Is(err, ErrLogin) {
		t.Errorf("%v", err)
	}
	if err := Refused("/s", nil); !errors.Is(err, ErrLogin) || !strings.Contains(err.Error(), "no way to log in is known") {
		t.Errorf("%v", err)
	}
	// On a tape it is still what it was.
	if again := ErrorOf(KindOf(err), err.Error()); !errors.Is(again, ErrWithheld) || !errors.Is(again, ErrLogin) {
		t.Errorf("%v", again)
	}
}
