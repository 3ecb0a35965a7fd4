package fetch

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/units"
)

// unpack writes the wanted members of a jar below a directory, all of them to
// be read and run by anybody; an archive among them is unpacked in turn.
func unpack(ctx context.Context, d host.Doer, jar, dir string, wanted func(member string) bool) error {
	z, err := zip.OpenReader(jar)
	if err != nil {
		return fmt.Errorf("open what was downloaded: %w", err)
	}
	defer z.Close()
	if len(z.File) > membersMost {
		return fmt.Errorf("unpack: more than %d files", membersMost)
	}
	left := int64(treeMost)
	for _, f := range z.File {
		if f.FileInfo().IsDir() || !wanted(f.Name) {
			continue
		}
		if !filepath.IsLocal(f.Name) || !f.Mode().IsRegular() {
			return fmt.Errorf("unpack: %q would lie outside its directory, or is not a file", f.Name)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		path := filepath.Join(dir, f.Name)
		n, err := unpackMember(f, path, left)
		if err != nil {
			return fmt.Errorf("unpack %s: %w", f.Name, err)
		}
		left -= n
		if strings.HasSuffix(path, ".txz") {
			if err := untar(ctx, d, path, dir); err != nil {
				return err
			}
		}
	}
	return nil
}

func unpackMember(f *zip.File, path string, most int64) (int64, error) {
	if err := public(filepath.Dir(path)); err != nil {
		return 0, err
	}
	r, err := f.Open()
	if err != nil {
		return 0, err
	}
	defer r.Close()
	w, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(w, io.LimitReader(r, most+1))
	if n > most {
		err = fmt.Errorf("more than %s", units.Bytes(treeMost))
	}
	return n, errors.Join(err, w.Chmod(0o755), w.Close())
}

// untar unpacks with tar, because there is no xz in Go's library.
func untar(ctx context.Context, d host.Doer, path, dir string) error {
	if _, err := d.Run(ctx, "tar", "--no-same-owner", "-pxJf", path, "-C", dir); err != nil {
		return hint.With(fmt.Errorf("unpack %s: %w", filepath.Base(path), err), "tar and xz are needed: install tar and xz-utils")
	}
	return os.Remove(path)
}
