package change

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/host"
)

// copying is one try at a copy.
type copying struct {
	k        *Executor
	do       host.Streamer
	c        *Change
	p        *Recorded
	from, to string
	dirs     map[string]entry // of the source, by name
	noted    int              // so many entries of the list are there, and the same: the journal says so
}

// How often progress is written down: at most so much is compared again after a
// crash, and no more is lost.
const (
	noteFiles = 256
	noteBytes = 256 << 20
	block     = 1 << 20 // a file goes on at a multiple of it
)

// errChanged tells that a file of the source was written to.
var errChanged = errors.New("it was written to while it was copied")

// all copies what is not there yet and gives the digest of the copy.
func (r *copying) all(ctx context.Context) (state string, err error) {
	entries, err := list(ctx, r.do, r.from)
	if err != nil {
		return "", err
	}
	sum := digest(entries)
	if r.p.Kept == sum { // the source is still as it was when progress was noted
		r.noted = r.p.Files
	}
	r.dirs = map[string]entry{}
	for _, e := range entries {
		if e.kind == 'd' {
			r.dirs[e.name] = e
		}
	}
	var bytes int64
	for i, e := range entries {
		if i < r.noted {
			continue
		}
		if err := r.entry(ctx, e); err != nil {
			return "", fmt.Errorf("copy %s: %w", path.Join(r.from, e.name), err)
		}
		bytes += e.size
		if i+1-r.noted >= noteFiles || bytes >= noteBytes {
			if err := r.note(ctx, i+1, sum); err != nil {
				return "", err
			}
			bytes = 0
		}
	}
	if err := r.attributes(ctx, entries); err != nil {
		return "", err
	}
	return r.compare(ctx, sum)
}

// compare looks at both sides once more: nobody wrote meanwhile, and nothing is missing.
func (r *copying) compare(ctx context.Context, sum string) (string, error) {
	now, err := list(ctx, r.do, r.from)
	if err == nil && digest(now) != sum {
		err = fmt.Errorf("%s: %w: %w", r.from, errChanged, ErrStopped)
	}
	if err != nil {
		return "", err
	}
	if _, err := r.do.Run(ctx, "sync", "-f", "--", r.to); err != nil {
		return "", err
	}
	there, err := list(ctx, r.do, r.to)
	if err == nil && digest(there) != sum {
		err = fmt.Errorf("the copy in %s is not like %s", r.to, r.from)
	}
	return sum, err
}

// note writes progress down, once it is on the disk.
func (r *copying) note(ctx context.Context, files int, sum string) error {
	if _, err := r.do.Run(ctx, "sync", "-f", "--", r.to); err != nil {
		return err
	}
	r.noted = files
	return r.k.note(ctx, r.c, kindProgress, result{N: r.p.N, Files: files, What: sum})
}

func (r *copying) entry(ctx context.Context, e entry) error {
	to := path.Join(r.to, e.name)
	switch e.kind {
	case 'd':
		if e.name == "." {
			return nil
		}
		err := r.do.MakeDir(ctx, to, 0o700, -1, -1)
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	case 'l':
		if now, err := r.do.Readlink(ctx, to); err == nil && now == e.link {
			return nil
		}
		if err := r.do.Remove(ctx, to); err != nil {
			return err
		}
		_, err := r.do.Run(ctx, "ln", "-s", "-T", "--", e.link, to)
		return err
	}
	return r.file(ctx, to, e, r.reader(e))
}

// file copies a file, or the rest of one. What an earlier try left is taken on
// trust until the whole is compared; if that fails, it is copied once more.
func (r *copying) file(ctx context.Context, to string, e entry, as []string) error {
	from := path.Join(r.from, e.name)
	st, err := r.do.Stat(ctx, to)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	skip := min(st.Size, e.size) / block
	for {
		want, err := r.stream(ctx, from, to, as, skip)
		if err != nil {
			return err
		}
		if skip > 0 {
			if want, err = r.sum(ctx, from, as); err != nil {
				return err
			}
		}
		got, err := r.sum(ctx, to, nil)
		switch {
		case err != nil:
			return err
		case got == want:
			return nil
		case skip == 0:
			return errors.New("what was read back is not what was written")
		}
		skip = 0
	}
}

// stream moves a file from a block on, and gives the sum of what it moved.
func (r *copying) stream(ctx context.Context, from, to string, as []string, skip int64) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	in, out := io.Pipe()
	sum := sha256.New()
	ended := make(chan error, 1)
	go func() {
		_, err := r.do.Pipe(ctx, host.Pipe{Argv: append(as, read(from, skip)...), Out: io.MultiWriter(out, sum), Works: true})
		out.CloseWithError(err)
		ended <- err
	}()
	_, err := r.do.Pipe(ctx, host.Pipe{In: in, Works: true, Argv: []string{"dd", "of=" + to, "bs=1M", "iflag=fullblock", "oflag=nofollow",
		"conv=sparse,fsync", "seek=" + strconv.FormatInt(skip, 10), "status=none"}})
	in.CloseWithError(err)
	if err != nil {
		cancel()
	}
	if readErr := <-ended; err == nil {
		err = readErr
	}
	return hex.EncodeToString(sum.Sum(nil)), err
}

// read is the command that gives a file from a block on, and follows no link.
func read(name string, skip int64) []string {
	return []string{"dd", "if=" + name, "bs=1M", "iflag=fullblock,nofollow", "skip=" + strconv.FormatInt(skip, 10), "status=none"}
}

func (r *copying) sum(ctx context.Context, name string, as []string) (string, error) {
	sum := sha256.New()
	_, err := r.do.Pipe(ctx, host.Pipe{Argv: append(as, read(name, 0)...), Out: sum, Works: true})
	return hex.EncodeToString(sum.Sum(nil)), err
}

// reader gives what comes before a command that reads a file of the source.
// Where its user could put a link to another's file in its place, it is read with
// no more rights than his.
func (r *copying) reader(e entry) []string {
	if !r.do.About().Root {
		return nil
	}
	for at := e; ; at = r.dirs[path.Dir(at.name)] {
		if at.uid != 0 {
			return []string{"setpriv", "--reuid=" + strconv.Itoa(at.uid), "--regid=" + strconv.Itoa(at.gid), "--clear-groups", "--"}
		}
		if at.name == "." {
			return nil
		}
	}
}

// attributes gives files their owners, modes and times. The directory itself
// comes last: until then nobody else can enter it.
func (r *copying) attributes(ctx context.Context, entries []entry) error {
	inner := slices.DeleteFunc(slices.Clone(entries), func(e entry) bool { return e.name == "." })
	whole := slices.DeleteFunc(slices.Clone(entries), func(e entry) bool { return e.name != "." })
	for _, some := range [][]entry{inner, whole} {
		err := r.each(ctx, some, func(e entry) []string { return []string{"chown", "-h", fmt.Sprintf("%d:%d", e.uid, e.gid)} })
		if err == nil {
			err = r.each(ctx, some, func(e entry) []string {
				if e.kind == 'l' {
					return nil // has none of its own
				}
				return []string{"chmod", e.mode}
			})
		}
		if err == nil {
			err = r.each(ctx, some, func(e entry) []string { return []string{"touch", "-h", "-d", "@" + e.modified} })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// each runs a command on entries, once for many that it is the same for.
func (r *copying) each(ctx context.Context, entries []entry, command func(entry) []string) error {
	const most = 200 // names on one command line
	groups := map[string][]string{}
	var order []string
	argv := map[string][]string{}
	for _, e := range entries {
		c := command(e)
		if c == nil {
			continue
		}
		key := strings.Join(c, " ")
		if argv[key] == nil {
			argv[key], order = append(c, "--"), append(order, key)
		}
		groups[key] = append(groups[key], path.Join(r.to, e.name))
	}
	for _, key := range order {
		for names := range slices.Chunk(groups[key], most) {
			if _, err := r.do.Run(ctx, append(slices.Clone(argv[key]), names...)...); err != nil {
				return err
			}
		}
	}
	return nil
}
