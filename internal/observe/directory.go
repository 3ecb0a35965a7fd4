package observe

import (
	"context"
	"fmt"
	"path"
	"strings"

	"plumb/internal/product"
	"plumb/internal/stack"
)

// directories learns what only the data directory itself can tell: whether its
// files carry the No_COW attribute of btrfs. The attributes of its first file
// are those of the server's files; the directory's only say what new files will have.
func (p *placer) directories(ctx context.Context) {
	for _, r := range p.s.Roles {
		db := p.s.Find(r.DB)
		if r.Name != "data" || db == nil || r.Filesystem.IsZero() {
			continue
		}
		if p.fstype(r.Filesystem) != "btrfs" {
			db.SetAbsent("data_nocow", "mountinfo")
			continue
		}
		dir := path.Join("/", p.view(ctx, r.PID).prefix, r.Resolved)
		nocow, from, err := p.noCOW(ctx, dir, product.Of(r.DB.Kind).FirstFile)
		if err != nil {
			p.obs.Gap(r.DB, err.Error(), "run as root, with e2fsprogs installed for lsattr", "data_nocow")
			continue
		}
		db.Set("data_nocow", stack.Bool(nocow), from)
	}
}

func (p *placer) fstype(ref stack.Ref) string {
	for _, t := range p.obs.Things {
		if t.Ref == ref {
			return t.Text("fstype")
		}
	}
	if t := p.s.Find(ref); t != nil {
		return t.Text("fstype")
	}
	return ""
}

// noCOW asks for the attribute of the first file, or of the directory where
// that file is not to be found.
func (p *placer) noCOW(ctx context.Context, dir, file string) (nocow bool, from string, err error) {
	for _, name := range []string{path.Join(dir, file), dir} {
		var out []byte
		if out, err = p.h.Output(ctx, "lsattr", "-d", name); err != nil {
			continue
		}
		if flags, ok := parseAttributes(out); ok {
			return strings.Contains(flags, "C"), "lsattr -d " + name, nil
		}
		err = fmt.Errorf("lsattr -d %s: no attributes in the answer", name)
	}
	return false, "", err
}

// parseAttributes gives the flags of the first line of lsattr(1), such as
// "---------------C------".
func parseAttributes(out []byte) (flags string, ok bool) {
	line, _, _ := strings.Cut(string(out), "\n")
	flags, _, ok = strings.Cut(line, " ")
	if !ok || flags == "" || strings.Trim(flags, "-abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return "", false
	}
	return flags, strings.Contains(flags, "-")
}
