// Package backup is the commands that take backups to a store and bring them back.
package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

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

// place is where backups are kept, and whose are believed.
type place struct {
	url              string
	endpoint, region string
	trust            []string
	json             bool
	state            string
}

func (p *place) flags(c *cobra.Command, name string) {
	fl := c.Flags()
	fl.StringVar(&p.url, name, "", "`URL` of the backups: s3://bucket/prefix or file:///directory")
	fl.StringVar(&p.endpoint, "endpoint", "", "`URL` of a store that is not Amazon's: https://host:port; $AWS_ENDPOINT_URL otherwise")
	fl.StringVar(&p.region, "region", "", "region of the bucket; $AWS_REGION otherwise")
	fl.StringVar(&p.state, "state", "", "keep this host's key, and what was sent, in `DIR` instead of "+backup.Directory)
	fl.BoolVar(&p.json, "json", false, "print JSON v1 (plumb schema describes it)")
	if err := c.MarkFlagRequired(name); err != nil {
		panic(err)
	}
}

func (p *place) trustFlag(c *cobra.Command) {
	c.Flags().StringArrayVar(&p.trust, "trust", nil, "believe the backups that the host of this public `KEY` made, or those of a file; can be given several times. This host's own are believed anyway")
}

// directory is where this host's key is.
func (p *place) directory() (string, error) {
	if p.state == "" {
		return backup.Directory, nil
	}
	return filepath.Abs(p.state)
}

// open opens the store. It is closed by the caller.
func (p *place) open() (store.Store, func() error, error) {
	u, err := url.Parse(p.url)
	if err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, nil, hint.Usage("the URL of the backups is not understood", "s3://bucket/prefix or file:///directory; the login is in $AWS_ACCESS_KEY_ID and $AWS_SECRET_ACCESS_KEY, or where the tools of AWS keep it")
	}
	switch u.Scheme {
	case "file":
		if u.Host != "" || !filepath.IsAbs(u.Path) {
			return nil, nil, hint.Usage(fmt.Sprintf("%s names no directory", p.url), "three slashes: file:///backups")
		}
		d, err := dir.Open(u.Path)
		if err != nil {
			return nil, nil, err
		}
		return d, d.Close, nil
	case "s3":
		b, err := s3.Open(s3.Options{Endpoint: cmp.Or(p.endpoint, os.Getenv("AWS_ENDPOINT_URL")), Region: cmp.Or(p.region, os.Getenv("AWS_REGION")), Bucket: u.Host, Prefix: strings.Trim(u.Path, "/")})
		return b, func() error { return nil }, err
	}
	return nil, nil, hint.Usage(fmt.Sprintf("%q is no place for backups", p.url), "s3://bucket/prefix or file:///directory")
}

// vault opens the store for reading.
func (p *place) vault(ctx context.Context, d host.Doer, s store.Store) (v backup.Vault, err error) {
	v = backup.Vault{Store: s}
	at, err := p.directory()
	if err != nil {
		return v, err
	}
	if own, err := backup.OwnKey(ctx, d, at); err == nil {
		v.Trust = append(v.Trust, own)
	}
	for _, given := range p.trust {
		more, err := trusted(given)
		if err != nil {
			return v, err
		}
		v.Trust = append(v.Trust, more...)
	}
	return v, nil
}

// trusted reads a key, or a file of keys.
func trusted(given string) ([]note.Verifier, error) {
	text := []byte(given)
	if !strings.Contains(given, "+") {
		var err error
		if text, err = contents(given); err != nil {
			return nil, fmt.Errorf("read whom to trust: %w", err)
		}
	}
	return backup.Trusted(text)
}

// contents reads a small file that the command line names.
func contents(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, 1<<20))
	return text, errors.Join(err, f.Close())
}

// on opens this machine and the store for one command.
func (v *verbs) on(p place, do func(d *host.LiveDoer, s store.Store) error) (err error) {
	plain, end, err := p.open()
	if err != nil {
		return err
	}
	s := store.Patiently(plain, store.DefaultPatience, stream.Workers, v.trouble())
	defer func() { err = errors.Join(err, end()) }()
	d := host.NewLiveDoer(host.NewLive(host.LiveOptions{Plumb: shell.Version()}))
	defer func() { err = errors.Join(err, d.Close()) }()
	return do(d, s)
}
