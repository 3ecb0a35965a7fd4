package guard

import (
	"context"

	"plumb/internal/change"
	"plumb/internal/host"
)

// toDo leaves out the edits whose value stands in its file.
func toDo(ctx context.Context, h host.Reader, acts []change.Act) (left []change.Act, err error) {
	for _, a := range acts {
		if a.Edit != nil {
			if there, err := a.Edit.Stands(ctx, h); err != nil {
				return nil, err
			} else if there {
				continue
			}
		}
		left = append(left, a)
	}
	return left, nil
}

// needs refuses where a program is not installed that an act runs: found out only then, it would take back all that was done before.
func needs(ctx context.Context, h host.Reader, program, from string) error {
	for _, dir := range []string{"/usr/sbin/", "/sbin/", "/usr/bin/"} {
		if there, err := host.Exists(ctx, h, dir+program); err != nil || there {
			return err
		}
	}
	return &change.Refusal{Why: program + " is not installed, and lets the server in where its data will be", What: "install " + from}
}
