// Package backup has the commands that send backups to a store and bring them back.
package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/mod/sumdb/note"

	"plumb/internal/backup"
	"plumb/internal/backup/store"
	"plumb/internal/backup/stream"
	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/store/dir"
	"plumb/internal/store/s3"
)

// place is where backups are kept, and whose keys are trusted for them.
type place struct {
	urls             []string
	endpoint, region string
	trust            []string
	json             bool
	state            string
	parallel         int
}

func (p *place) flags(c *cobra.Command, name, what string) {
	fl := c.Flags()
	fl.StringArrayVar(&p.urls, name, nil, what)
	p.common(c)
	if err := c.MarkFlagRequired(name); err != nil {
		panic(err)
	}
}

const oneURL = "`URL` of the backups: s3://bucket/prefix or file:///directory"

func (p *place) common(c *cobra.Command) {
	fl := c.Flags()
	p.parallel = stream.Workers
	fl.StringVar(&p.endpoint, "endpoint", "", "`URL` of an S3 store other than Amazon's: https://host:port; default: $AWS_ENDPOINT_URL")
	fl.StringVar(&p.region, "region", "", "region of the bucket; default: $AWS_REGION")
	fl.StringVar(&p.state, "state", "", "keep this host's key, and the record of what was sent, in `DIR` instead of "+backup.Directory)
	shell.JSONFlag(c, &p.json, "")
}

// parallelFlag adds the flag of commands that move whole backups.
func (p *place) parallelFlag(c *cobra.Command) {
	c.Flags().IntVar(&p.parallel, "parallel", stream.Workers, "send or fetch `N` objects at once; each takes about 40 MB of memory")
}

func (p *place) trustFlag(c *cobra.Command) {
	c.Flags().StringArrayVar(&p.trust, "trust", nil, "trust backups signed with this public `KEY`, or with the keys in the file of that name; can be given several times. Those of this host are always trusted")
}

// open opens a store. The caller must close it.
func (p *place) open(at string) (store.Store, func() error, error) {
	u, err := url.Parse(at)
	if err != nil || u.User != nil || u.Fragment != "" {
		return nil, nil, hint.Usage("the URL of the backups is not understood", "s3://bucket/prefix or file:///directory; the login is in $AWS_ACCESS_KEY_ID and $AWS_SECRET_ACCESS_KEY, or where the tools of AWS keep it")
	}
	switch u.Scheme {
	case "file":
		if u.Host != "" || u.RawQuery != "" || !filepath.IsAbs(u.Path) {
			return nil, nil, hint.Usage(fmt.Sprintf("%s names no directory", at), "three slashes: file:///backups")
		}
		d, err := dir.Open(u.Path)
		if err != nil {
			return nil, nil, err
		}
		return d, d.Close, nil
	case "s3":
		b, err := p.bucket(u)
		return b, func() error { return nil }, err
	}
	help := "s3://bucket/prefix or file:///directory"
	if path.IsAbs(at) {
		help = "did you mean file://" + at + "?"
	}
	return nil, nil, hint.Usage(fmt.Sprintf("%q is not a place for backups", at), help)
}

// bucket opens a bucket of S3. Its URL can name an endpoint, a region and a login of its own, as several stores can have different ones.
func (p *place) bucket(u *url.URL) (*s3.Bucket, error) {
	o := s3.Options{Bucket: u.Host, Prefix: strings.Trim(u.Path, "/")}
	o.Endpoint, o.Region = shell.EndpointOfAWS(p.endpoint, p.region)
	if u.Host == "" {
		return nil, hint.Usage(fmt.Sprintf("%s names no bucket", u), "two slashes: s3://bucket/prefix")
	}
	said, err := url.ParseQuery(u.RawQuery)
	for name, values := range said {
		to := map[string]*string{"endpoint": &o.Endpoint, "region": &o.Region, "profile": &o.Profile}[name]
		if to == nil || len(values) != 1 || values[0] == "" {
			err = errors.Join(err, fmt.Errorf("it says %q", name))
			continue
		}
		*to, o.Name = values[0], u.String()
	}
	if err != nil {
		return nil, hint.Usage("the URL of the backups is not understood: "+err.Error(), "after a ? it can have endpoint=URL, region=NAME and profile=NAME (of ~/.aws/credentials), with & between them")
	}
	if o.Authorities, err = shell.AuthoritiesOfS3(); err != nil {
		return nil, fmt.Errorf("open the bucket %s: %w", u.Host, err)
	}
	return s3.Open(o)
}

// sheet says what somebody must know about a store to restore from it.
func (p *place) sheet(at string) (s backup.Sheet) {
	s.URL = at
	if strings.HasPrefix(at, "s3:") {
		s.Endpoint, s.Region = shell.EndpointOfAWS(p.endpoint, p.region)
	}
	if u, err := url.Parse(at); err == nil && u.RawQuery != "" { // the login of the URL is only for this machine
		q := u.Query()
		s.Endpoint, s.Region = cmp.Or(q.Get("endpoint"), s.Endpoint), cmp.Or(q.Get("region"), s.Region)
		u.RawQuery = ""
		s.URL = u.String()
	}
	return s
}

// vault opens the store for reading.
func (p *place) vault(ctx context.Context, d host.Doer, s store.Store) (v backup.Vault, err error) {
	v = backup.Vault{Store: s}
	at, err := backup.At(p.state)
	if err != nil {
		return v, err
	}
	if v, err = v.Own(ctx, d, at); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return v, err
	}
	for _, given := range p.trust {
		more, err := trusted(given)
		if err != nil {
			return v, err
		}
		v.Trust = append(v.Trust, more...)
	}
	return v.Through(ctx)
}

// trusted reads a public key, or a file of public keys.
func trusted(given string) (all []note.Verifier, err error) {
	switch {
	case backup.IsSecret(given):
		return nil, errShown("--trust", "the public key, which plumb backup key prints")
	case strings.Contains(given, "+"):
		return backup.Trusted([]byte(given))
	}
	text, err := shell.ReadFile(given, nil, mostKeys)
	if err == nil {
		all, err = backup.Trusted(text)
	}
	if err != nil {
		err = fmt.Errorf("read whom to trust: %s: %w", given, err)
	}
	return all, err
}

// errShown is the error of a flag that was given a secret key. It does not repeat the key.
func errShown(flag, takes string) error {
	return hint.Usage(flag+" was given a secret key itself", flag+" takes "+takes+". Others on this machine can read a command line: make another key if they must not have this one")
}

// mostKeys is the largest file of keys that is read, in bytes.
const mostKeys = 1 << 20

// on calls a command with this machine and the store, and closes both.
func (v *verbs) on(p place, do func(d *host.LiveDoer, s store.Store) error) (err error) {
	if len(p.urls) > 1 {
		return hint.Usage("this reads from one place at a time, but several were given", "name one")
	}
	return v.onAll(p, p.urls, func(d *host.LiveDoer, all []store.Store) error { return do(d, all[0]) })
}

// onAll calls a command with this machine and all stores, and closes them.
func (v *verbs) onAll(p place, urls []string, do func(d *host.LiveDoer, all []store.Store) error) (err error) {
	if p.parallel < 1 || p.parallel > 64 {
		return hint.Usage(fmt.Sprintf("--parallel %d is out of range", p.parallel), "1 to 64")
	}
	patience := store.DefaultPatience
	if len(p.urls) > 1 { // do not try one store for as long as if it were the only one, as the others wait
		patience.For = 10 * time.Minute
	}
	var all []store.Store
	var ends []func() error
	defer func() {
		for _, end := range ends {
			err = errors.Join(err, end())
		}
	}()
	var away []error
	for i, at := range urls {
		if slices.ContainsFunc(urls[:i], func(had string) bool { return path.Clean(had) == path.Clean(at) }) {
			return hint.Usage(at+" is named twice", "name each place once")
		}
		plain, end, err := p.open(at)
		if _, is := errors.AsType[*fs.PathError](err); is && len(p.urls) > 1 { // a disk that is not mounted is no reason not to use the others
			away = append(away, fmt.Errorf("%s: %w", at, err))
			all = append(all, &store.Missing{At: at, Why: err})
			continue
		}
		if err != nil {
			return err
		}
		ends = append(ends, end)
		all = append(all, store.Patiently(plain, patience, p.parallel, v.trouble()))
	}
	if len(away) == len(urls) {
		return errors.Join(away...)
	}
	d := shell.Machine()
	defer func() { err = errors.Join(err, d.Close()) }()
	defer v.rest()
	return do(d, all)
}

// doubt warns of a backup that is ignored because it is not believed.
func (v *verbs) doubt(f backup.Found) {
	v.Warn("backup "+f.ID+" is newer, but not trusted", f.Err)
}
