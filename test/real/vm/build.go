package vm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"plumb/test/namespace"
	"plumb/test/sandbox"
)

// Image is a system's disk with its kernel, in the cache.
type Image struct {
	Release string
	Dir     string
}

// About says which versions are on the image, a name and a version in a line.
func (i Image) About() string {
	text, err := os.ReadFile(filepath.Join(i.Dir, "about"))
	if err != nil {
		return ""
	}
	return string(text)
}

func (i Image) file(name string) string { return filepath.Join(i.Dir, name) }

// whole tells whether it was built; the directory gets its name last.
func (i Image) whole() bool {
	_, err := os.Stat(i.file("disk"))
	return err == nil
}

// buildTime ends a build that hangs.
const buildTime = 45 * time.Minute

// Build gives the image of a release, from the cache or newly built. Others
// who want the same one at the same time wait for it.
func Build(ctx context.Context, release string, say Say) (Image, error) {
	r, image, err := imageOf(release)
	if err != nil || image.whole() {
		return image, err
	}
	if err := canBuild(); err != nil {
		return Image{}, err
	}
	var base Image
	if r.Base != "" {
		if base, err = Build(ctx, r.Release, say); err != nil {
			return Image{}, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, buildTime)
	defer cancel()
	unlock, err := lock(ctx, image.Dir+".lock", func() { say.tell("waiting for another build of " + release) })
	if err != nil {
		return Image{}, err
	}
	defer unlock()
	if image.whole() {
		return image, nil
	}
	return image, image.build(ctx, r, base, say)
}

// Built tells whether the image of a release is in the cache.
func Built(release string) bool {
	_, image, err := imageOf(release)
	return err == nil && image.whole()
}

// imageOf says where the image of a release is, or will be.
func imageOf(release string) (recipe, Image, error) {
	r, err := recipeOf(release)
	if err != nil {
		return recipe{}, Image{}, err
	}
	root, err := cache()
	if err != nil {
		return recipe{}, Image{}, err
	}
	return r, Image{Release: release, Dir: filepath.Join(root, release+"-"+r.hash())}, nil
}

func (i Image) build(ctx context.Context, r recipe, base Image, say Say) error {
	say.tell(fmt.Sprintf("building the Debian machine %s, this once: up to ten minutes and 3 GB, kept in %s", i.Release, i.Dir))
	start, dir := time.Now(), i.Dir+".building"
	if err := errors.Join(os.RemoveAll(dir), os.RemoveAll(i.Dir)); err != nil { // of a build that was killed
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range map[string]string{"build.sh": r.Build, "stub.sh": r.Stub} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			return err
		}
	}
	log, err := os.Create(i.Dir + ".log")
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, "unshare", append([]string{"--mount", "--pid", "--fork", "--kill-child", "--",
		"sh", "-c", namespace.LetGo("") + `exec sh "$@"`, "sh", filepath.Join(dir, "build.sh"), dir, r.Release, r.Mirror, r.Size}, r.Packages...)...)
	cmd.Env = append(os.Environ(), "BASE="+base.Dir)
	out := &progress{log: log, say: say}
	cmd.Stdout, cmd.Stderr = out, out
	if err := tied(cmd); err != nil {
		return fmt.Errorf("build the Debian machine %s: %w: %s ends with\n%s", i.Release, errors.Join(err, context.Cause(ctx)), log.Name(), out.tail())
	}
	if err := os.Rename(dir, i.Dir); err != nil {
		return err
	}
	say.tell(fmt.Sprintf("built in %s: %s", time.Since(start).Round(time.Second), strings.ReplaceAll(strings.TrimSpace(i.About()), "\n", ", ")))
	return nil
}

// canBuild says what is missing for a build.
func canBuild() error {
	if runtime.GOARCH != "amd64" {
		return sandbox.Missing{What: "machines are made for x86-64 only", Hint: "run on x86-64"}
	}
	if os.Getuid() != 0 {
		return sandbox.Missing{What: "building a machine needs root", Hint: "run as root once; the machine can then be used without"}
	}
	for name, pack := range map[string]string{"debootstrap": "debootstrap", "mke2fs": "e2fsprogs", "unshare": "util-linux", "chroot": "coreutils"} {
		if _, err := findProgram(name, pack); err != nil {
			return err
		}
	}
	return nil
}

// progress keeps the log, and tells people the lines that are for them.
type progress struct {
	log  io.Writer
	say  Say
	last []byte // the end of the log, for an error
	line []byte // begun
}

// tailBytes is how much of a log goes into an error.
const tailBytes = 2000

// Write implements io.Writer.
func (p *progress) Write(b []byte) (int, error) {
	p.last = append(p.last, b...)
	p.last = p.last[max(0, len(p.last)-tailBytes):]
	p.line = append(p.line, b...)
	for {
		end := bytes.IndexByte(p.line, '\n')
		if end < 0 {
			break
		}
		if text, ok := strings.CutPrefix(string(p.line[:end]), "vm: "); ok {
			p.say.tell(text)
		}
		p.line = p.line[end+1:]
	}
	p.line = p.line[:min(len(p.line), tailBytes)]
	return p.log.Write(b)
}

func (p *progress) tail() string { return strings.TrimSpace(string(p.last)) }
