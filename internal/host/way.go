package host

import (
	"context"
	"fmt"
	"path"
	"strings"
)

// MakeWay makes the directories that lead from a root to a place below it, which is made too. None of them may be a link: it could lead
// out of the root.
func MakeWay(ctx context.Context, d Doer, root, to string) error {
	at := root
	for name := range strings.SplitSeq(strings.TrimPrefix(to, root+"/"), "/") {
		at = path.Join(at, name)
		if _, err := d.Readlink(ctx, at); err == nil {
			return fmt.Errorf("%s is a link, and a directory was expected", at)
		}
		if st, err := d.Stat(ctx, at); err == nil && st.Mode.IsDir() {
			continue
		}
		if err := d.MakeDir(ctx, at, 0o755, -1, -1); err != nil {
			return err
		}
	}
	return nil
}
