// Package memory writes down what another tool has of a server's backups in the words of Plumb's own, so that a check and
// metrics know of them.
package memory

import (
	"context"
	"io"
	"net/url"
	"strings"
	"time"

	"plumb/internal/backup"
	"plumb/internal/backup/driven"
	"plumb/internal/backup/known"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/cli/watch/outlet"
	"plumb/internal/host"
	"plumb/internal/store/dir"
	"plumb/internal/store/s3"
	"plumb/internal/view/metrics"
)

// Of gives the manifest that Plumb's own backup of the server would have: a check and metrics know those.
func Of(s driven.Set, b driven.Taken) manifest.Manifest {
	return manifest.Manifest{ID: b.Label, Server: s.Server.Ref.String(), Ended: b.Ended, Streams: []manifest.Stream{{Name: s.Name, Kind: manifest.Command, Bytes: b.Bytes}},
		Facts: map[string]string{"made_with": s.Tool}}
}

// told gives what a tool has in the words of a list.
func told(s driven.Set, f driven.Found) (all []backup.Found) {
	for _, b := range f.Backups {
		one := backup.Found{Manifest: Of(s, b), By: s.Tool}
		switch {
		case !b.Proven.IsZero() && !b.Failed.After(b.Proven):
			one.Proof = &manifest.Proof{ID: b.Label, At: b.Proven, OK: true}
		case !b.Failed.IsZero():
			one.Proof = &manifest.Proof{ID: b.Label, At: b.Failed, Why: "no server started on " + b.Label}
		}
		all = append(all, one)
	}
	return all
}

// Note writes down in a directory of this host what there is; made is a backup that was just made, or nil.
func Note(ctx context.Context, d host.Doer, at string, s driven.Set, f driven.Found, made *driven.Taken) error {
	if s.URL == "" { // a tool that keeps to itself where its store is
		return nil
	}
	lies, err := liesOf(ctx, d, s)
	if err != nil {
		return err
	}
	var keys []string
	if s.Private != "" {
		keys = []string{s.KeyFile()}
	}
	plain, _, _ := strings.Cut(s.URL, "?")
	return known.Note(ctx, d, at, known.At{URL: s.URL, Plain: plain, Endpoint: s.Endpoint}, func(p *known.Place) {
		p.Lies, p.Keys = lies, keys
		if made != nil {
			p.Made(Of(s, *made))
		}
		p.See(told(s, f), time.Now())
	})
}

// Textfile writes what there is for node_exporter.
func Textfile(name string, s driven.Set, f driven.Found) error {
	file := outlet.Textfile{Path: name}
	if err := file.Validate(); err != nil {
		return err
	}
	return file.Write(func(w io.Writer) error { return metrics.Backups(w, s.URL, told(s, f), time.Now()) })
}

// Login reads the login of a bucket from where the tools of AWS look.
func Login(s driven.Set) (l driven.Login) {
	if driven.Local(s.URL) == "" {
		l.Key, l.Secret, l.Token = s3.Login()
	}
	return l
}

// liesOf finds where the store of a set lies.
func liesOf(ctx context.Context, d host.Doer, s driven.Set) (known.Lies, error) {
	if at := driven.Local(s.URL); at != "" {
		one, err := dir.Open(at)
		if err != nil {
			return known.Lies{}, err
		}
		lies := known.Find(ctx, d, one)
		return lies, one.Close()
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		return known.Lies{}, err
	}
	var bucket store.Store
	bucket, err = s3.Open(s3.Options{Endpoint: s.Endpoint, Region: s.Region, Bucket: u.Host, Prefix: strings.Trim(u.Path, "/")})
	if err != nil {
		return known.Lies{}, err
	}
	return known.Find(ctx, d, bucket), nil
}
