package filesystem

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"plumb/internal/edit"
	"plumb/internal/host"
	"plumb/internal/stack"
)

const fstab = "/etc/fstab"

// Entry is one line of /etc/fstab (fstab(5)).
type Entry struct {
	Source  string // device, UUID=…, dataset, server:/path
	Point   string // "none" for swap
	Type    string // auto, or several separated by commas
	Options []string
	Line    int // 1-based
}

func readFstab(ctx context.Context, h host.Reader, obs *stack.Observation) []Entry {
	data, err := h.ReadFile(ctx, fstab)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			obs.Gap(stack.Ref{}, err.Error(), "")
		}
		return nil
	}
	return parseFstab(data)
}

// fstabLimit is the most lines that are believed.
const fstabLimit = 10_000

// parseFstab reads /etc/fstab. Lines without a mount point are left out.
func parseFstab(data []byte) []Entry {
	var entries []Entry
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		f := strings.Fields(line)
		if len(f) < 2 || strings.HasPrefix(f[0], "#") || len(entries) == fstabLimit {
			continue
		}
		e := Entry{Source: edit.Unoctal(f[0]), Point: edit.Unoctal(f[1]), Type: "auto", Line: n, Options: []string{"defaults"}}
		if len(f) > 2 {
			e.Type = f[2]
		}
		if len(f) > 3 {
			e.Options = slices.DeleteFunc(strings.Split(f[3], ","), func(o string) bool { return o == "" })
		}
		entries = append(entries, e)
	}
	return entries
}

// nextMount records the options of the filesystem's line in fstab, which the
// next boot will use.
func (v *volume) nextMount() {
	e := v.line()
	if e == nil {
		v.thing.SetAbsent("fstab_options", fstab)
		v.thing.SetAbsent("fstab_source", fstab)
		return
	}
	from := fmt.Sprintf("%s:%d", fstab, e.Line)
	v.thing.Setting("fstab_options", stack.List(e.Options), from, stack.Origin{From: stack.FromFile, File: fstab, Line: e.Line})
	v.thing.Set("fstab_source", stack.Text(e.Source), from)
}
