package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"plumb/internal/host/redact"
)

// kindError is an error as a tape keeps it: its text, and the one error for which
// errors.Is is true; nil for none.
type kindError struct {
	text string
	kind error
}

func (e kindError) Error() string { return e.text }
func (e kindError) Unwrap() error { return e.kind }

type errorKind struct {
	name string
	kind error
}

// errorKinds names the errors that keep their meaning on a tape. The order
// matters where one error is of two kinds.
func errorKinds() []errorKind {
	return []errorKind{
		{"too_large", ErrTooLarge},
		{"no_command", ErrNoCommand},
		{"refused", ErrRefused},
		{"broken", ErrBroken},
		{"withheld", ErrWithheld},
		{"login", ErrLogin},
		{"denied", ErrDenied},
		{"not_on_tape", ErrNotOnTape},
		{"exist", fs.ErrExist},
		{"permission", fs.ErrPermission},
		{"deadline", context.DeadlineExceeded},
		{"canceled", context.Canceled},
		{"full", syscall.ENOSPC},
		{"quota", syscall.EDQUOT},
		{"read_only", syscall.EROFS},
		{"down", ErrDown}, // also where the socket does not exist
		{"not_exist", fs.ErrNotExist},
	}
}

// KindOf returns the name of an error's kind, or "other".
func KindOf(err error) string {
	for _, k := range errorKinds() {
		if errors.Is(err, k.kind) {
			return k.name
		}
	}
	return "other"
}

// ErrorOf makes the error of a kind's name; an unknown name gives an error
// without a kind.
func ErrorOf(name, text string) error {
	for _, k := range errorKinds() {
		if k.name == name {
			return kindError{text, k.kind}
		}
	}
	return kindError{text: text}
}

// Answered reduces an error to what a tape keeps, so that a live answer and a
// replayed one cannot differ, and takes secrets out of its text.
func Answered(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := err.(kindError); ok {
		return kindError{redact.Text(e.text), e.kind}
	}
	return ErrorOf(KindOf(err), redact.Text(err.Error()))
}

// fileError adds to an error what was being done to which path. That a process has ended (ESRCH), and that a path leads through a file
// (ENOTDIR), both mean that there is no such file.
func fileError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.ENOTDIR) {
		return kindError{fmt.Sprintf("%s %s: %v", op, name, err), fs.ErrNotExist}
	}
	return Answered(fmt.Errorf("%s %s: %w", op, name, err))
}
