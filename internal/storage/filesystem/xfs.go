package filesystem

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"plumb/internal/stack"
)

// xfs reads what was fixed when the filesystem was made. xfs_info would print the same, but where nothing is mounted any more
// it calls xfs_db without -r, which opens what is there for writing.
func (v *volume) xfs(ctx context.Context) {
	const from = "xfs_spaceman -c info"
	facts := []string{"features", "made_block_size", "xfs_crc", "xfs_reflink"}
	out, err := v.h.Output(ctx, "xfs_spaceman", "-c", "info", v.mount.Point)
	if err != nil {
		v.gap(err, facts...)
		return
	}
	g, err := parseGeometry(out)
	if err != nil {
		v.gap(err, facts...)
		return
	}
	v.thing.Set("features", stack.List(g.Features), from)
	v.thing.Set("made_block_size", stack.Int(g.BlockSize), from)
	if g.CRC != nil {
		v.thing.Set("xfs_crc", stack.Bool(*g.CRC), from)
	}
	if g.Reflink != nil {
		v.thing.Set("xfs_reflink", stack.Bool(*g.Reflink), from)
	}
}

// geometry is what XFS tells of itself; nil where an old release does not say.
type geometry struct {
	BlockSize    int64 // of the data section, bytes
	CRC, Reflink *bool
	Features     []string // names with =1
}

// parseGeometry reads the output of `xfs_spaceman -c info`, which is that of xfs_info(8).
func parseGeometry(out []byte) (geometry, error) {
	var g geometry
	section := ""
	for line := range strings.Lines(string(out)) {
		if name, _, ok := strings.Cut(line, "="); ok && strings.TrimSpace(name) != "" {
			section = strings.Fields(name)[0]
		}
		for _, word := range strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == ',' || r == '\n' }) {
			key, value, ok := strings.Cut(word, "=")
			if !ok || key == "" {
				continue
			}
			g.word(section, key, value)
		}
	}
	if g.BlockSize <= 0 {
		return g, errors.New("xfs_spaceman -c info: no block size in the answer")
	}
	return g, nil
}

func (g *geometry) word(section, key, value string) {
	on := value == "1"
	switch {
	case section == "data" && key == "bsize":
		g.BlockSize, _ = strconv.ParseInt(value, 10, 64)
	case section != "meta-data" || value != "0" && value != "1":
		return
	case key == "crc":
		g.CRC = &on
	case key == "reflink":
		g.Reflink = &on
	}
	if section == "meta-data" && on {
		g.Features = append(g.Features, key)
	}
}
