package fill

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"plumb/internal/hint"
	"plumb/internal/load"
)

func hinted(help, format string, args ...any) error {
	return hint.With(fmt.Errorf(format, args...), help)
}

const again = "what is loaded stays: prepare again continues from there, cleanup removes it"

// codes of errors that have a meaning here, of both engines.
var (
	fullCodes = []string{"53100", "1114", "1021", "28"}
	madeCodes = []string{"1061", "1826", "1022", "1005"} // MySQL: an index or a foreign key of this name exists
)

func hasCode(err error, codes []string) bool {
	f, ok := errors.AsType[*load.Failure](err)
	return ok && slices.Contains(codes, f.Code)
}

func hasClass(err error, c load.Class) bool {
	f, ok := errors.AsType[*load.Failure](err)
	return ok && f.Class == c
}

// stopped words why a load ended before its end, and how to go on.
func stopped(ctx context.Context, err error) error {
	if _, ok := errors.AsType[hint.Hinted](err); ok && ctx.Err() == nil {
		return err
	}
	help := again
	switch {
	case ctx.Err() != nil:
		return hinted(help, "loading was interrupted: %w", context.Cause(ctx))
	case hasCode(err, fullCodes):
		help = "make room where the server keeps its data; " + again
	case hasClass(err, load.Lost):
		help = "see the server's log for why it closed the connection; " + again
	}
	return hinted(help, "loading ended: %w", err)
}
