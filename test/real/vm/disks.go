package vm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// outBytes is the room in /out; the file has holes.
const outBytes = 2 << 30

// makeIn makes the disk with the files that come along, the init and the line.
// Without a line the machine gives a shell.
func makeIn(ctx context.Context, dir string, s Script) (string, error) {
	stage := filepath.Join(dir, "in")
	if err := os.MkdirAll(filepath.Join(stage, ".vm"), 0o755); err != nil {
		return "", err
	}
	for _, name := range s.In {
		if err := stageFile(stage, name); err != nil {
			return "", fmt.Errorf("take %s along: %w", name, err)
		}
	}
	own := map[string]string{"init": initScript, "run": runScript}
	if s.Systemd {
		own["init"] = systemdScript
	}
	if s.Line != "" {
		own["line"] = s.Line + "\n"
	}
	for name, text := range own {
		if err := os.WriteFile(filepath.Join(stage, ".vm", name), []byte(text), 0o755); err != nil {
			return "", err
		}
	}
	bytes, files, err := weigh(stage)
	if err != nil {
		return "", err
	}
	image := filepath.Join(dir, "in.img")
	return image, makeFilesystem(ctx, image, "in", roomFor(bytes, files), files+64, "-d", stage)
}

// stageFile copies a file or a directory under its last name.
func stageFile(stage, name string) error {
	full, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	to := filepath.Join(stage, filepath.Base(full))
	if _, err := os.Lstat(to); err == nil {
		return errors.New("another file has the same last name")
	}
	st, err := os.Stat(full)
	if err != nil {
		return err
	}
	if st.IsDir() {
		return os.CopyFS(to, os.DirFS(full))
	}
	return copyFile(to, full, st.Mode().Perm())
}

func copyFile(to, from string, perm fs.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// weigh adds up a directory.
func weigh(dir string) (bytes int64, files int, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		files++
		bytes += info.Size()
		return nil
	})
	return bytes, files, err
}

// roomFor is the size of a filesystem for so many bytes in so many files, in
// whole MiB: a tenth more, a few blocks for each file, and its own structures.
func roomFor(bytes int64, files int) int64 {
	const mib = 1 << 20
	need := bytes + bytes/10 + int64(files)*8192 + 16*mib
	return (need + mib - 1) / mib * mib
}

// makeFilesystem makes an ext4 without a journal in a new file: it is written
// once, closed and read. mke2fs shares the inodes out among groups of 8 MiB or
// more, and rounds the share down.
func makeFilesystem(ctx context.Context, image, label string, size int64, inodes int, more ...string) error {
	mke2fs, err := findProgram("mke2fs", "e2fsprogs")
	if err != nil {
		return err
	}
	inodes += 16 * (int(size>>23) + 1)
	args := append([]string{"-q", "-F", "-t", "ext4", "-O", "^has_journal", "-L", "plumb-" + label, "-N", fmt.Sprint(inodes)}, more...)
	cmd := exec.CommandContext(ctx, mke2fs, append(args, image, fmt.Sprintf("%dK", size>>10))...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := tied(cmd); err != nil {
		return fmt.Errorf("make the disk %q: %w: %s", label, err, bytes.TrimSpace(out.Bytes()))
	}
	return nil
}

// makeDisks makes the files of the disks that have none, and an empty log for
// those that are logged.
func makeDisks(dir string, disks []Disk) ([]Disk, error) {
	all, err := absolute(disks)
	if err != nil {
		return nil, err
	}
	for i := range all {
		d := &all[i]
		if d.File == "" {
			d.File = filepath.Join(dir, d.Name+".img")
		}
		if _, err := os.Stat(d.File); errors.Is(err, fs.ErrNotExist) {
			if d.Bytes < leastBytes {
				return nil, fmt.Errorf("make disk %s: %s is not there, and a new one of %d bytes is no disk", d.Name, d.File, d.Bytes)
			}
			if err := hollow(d.File, d.Bytes); err != nil {
				return nil, fmt.Errorf("make disk %s: %w", d.Name, err)
			}
		}
		if d.Log != "" {
			if err := hollow(d.Log, 0); err != nil {
				return nil, fmt.Errorf("make the log of disk %s: %w", d.Name, err)
			}
		}
	}
	return all, nil
}

// hollow makes a file of a size that takes no room yet.
func hollow(name string, size int64) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(size), f.Close())
}

// emptyDir makes a directory, or wants it to be empty.
func emptyDir(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("bring files to %s: there are some already", dir)
	}
	return err
}

// bring copies what the machine left in /out to a directory.
func bring(ctx context.Context, image, dir string) error {
	debugfs, err := findProgram("debugfs", "e2fsprogs")
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, debugfs, "-R", "rdump / .", image)
	cmd.Dir = dir // and not an argument, which it would split at spaces
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = tied(cmd)
	if text := complaints(errs.String()); text != "" {
		err = errors.Join(err, errors.New(text))
	}
	if err != nil {
		return fmt.Errorf("bring files back: %w", err)
	}
	return os.RemoveAll(filepath.Join(dir, "lost+found"))
}

// complaints are what debugfs, which ends well whatever happens, says beside
// its version and that only root can give files away.
func complaints(errs string) string {
	var all []string
	for line := range strings.Lines(errs) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "debugfs ") || strings.Contains(line, "while changing ownership") {
			continue
		}
		all = append(all, line)
	}
	return strings.Join(all, "; ")
}
