package driven

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"plumb/internal/host"
)

// Version asks a program for its version, which is the first group of what it says. missing is what is wrong when it is not installed.
func Version(ctx context.Context, d host.Streamer, says *regexp.Regexp, missing error, argv ...string) (string, error) {
	out, err := d.Run(ctx, argv...)
	if errors.Is(err, host.ErrNoCommand) {
		return "", missing
	}
	if err != nil {
		return "", err
	}
	m := says.FindSubmatch(out)
	if m == nil {
		return "", fmt.Errorf("the output of %s is not understood: %.80q", strings.Join(argv[:2], " "), out)
	}
	return string(m[1]), nil
}
