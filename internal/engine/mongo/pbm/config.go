package pbm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
	"time"

	"plumb/internal/await"
	"plumb/internal/backup/driven"
	"plumb/internal/hint"
	"plumb/internal/host"
)

var _ driven.Told = Tool{}

// configuration is what pbm config takes in YAML, which JSON is a part of, and gives in JSON; see pbm/config and pbm/storage. The cluster
// keeps it, in admin.pbmConfig.
type configuration struct {
	Storage keeping `json:"storage"`
	PITR    *pitr   `json:"pitr,omitempty"`
}

type keeping struct {
	Type       string     `json:"type"`
	S3         *bucket    `json:"s3,omitempty"`
	Filesystem *directory `json:"filesystem,omitempty"`
}

type bucket struct {
	Region      string `json:"region"`
	Endpoint    string `json:"endpointUrl,omitempty"`
	Bucket      string `json:"bucket"`
	Prefix      string `json:"prefix,omitempty"`
	Credentials *login `json:"credentials,omitempty"`
}

type login struct {
	Key    string `json:"access-key-id"`
	Secret string `json:"secret-access-key"`
}

type directory struct {
	Path string `json:"path"`
}

type pitr struct {
	Enabled bool `json:"enabled"`
}

// region is what PBM takes where none is named.
const region = "us-east-1"

// place names where backups are kept, without the login.
func (k keeping) place() string {
	switch {
	case k.S3 != nil:
		return strings.Join([]string{k.Type, k.S3.Endpoint, cmp.Or(k.S3.Region, region), k.S3.Bucket, strings.Trim(k.S3.Prefix, "/")}, " ")
	case k.Filesystem != nil:
		return k.Type + " " + path.Clean(k.Filesystem.Path)
	}
	return k.Type
}

// wanted is what a set asks for.
func wanted(s driven.Set, l driven.Login) (k keeping, err error) {
	u, err := url.Parse(s.URL)
	if err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return k, hint.Usage("the URL of the backups is not understood", "s3://bucket/prefix with --endpoint and --region, or file:///directory")
	}
	switch {
	case u.Scheme == "file" && u.Host == "" && path.IsAbs(u.Path):
		return keeping{Type: "filesystem", Filesystem: &directory{path.Clean(u.Path)}}, nil
	case u.Scheme != "s3" || u.Host == "":
		return k, hint.Usage(fmt.Sprintf("%q is not a place that Plumb sets for PBM", s.URL), "s3://bucket/prefix or file:///directory; others are set with pbm config --file")
	case strings.Contains(s.Endpoint, "@"): // it is shown
		return k, hint.Usage("the endpoint has a login in it", "the login is in $AWS_ACCESS_KEY_ID and $AWS_SECRET_ACCESS_KEY, or where the tools of AWS keep it; an endpoint is https://host:port")
	case l.Token != "":
		return k, hint.Usage("the login of the bucket expires within hours", "the agents need one that lasts, or the role of their machines: unset $AWS_SESSION_TOKEN")
	}
	k = keeping{Type: "s3", S3: &bucket{Region: cmp.Or(s.Region, region), Endpoint: s.Endpoint, Bucket: u.Host, Prefix: strings.Trim(u.Path, "/")}}
	if l.Key != "" {
		k.S3.Credentials = &login{l.Key, l.Secret}
	}
	return k, nil
}

// Tell implements driven.Told.
func (t Tool) Tell(ctx context.Context, d host.Streamer, s driven.Set, l driven.Login, log bool) (did bool, err error) {
	if _, err := t.Have(ctx, d); err != nil {
		return false, err
	}
	is, err := configured(ctx, d)
	if err != nil {
		return false, err
	}
	var want keeping
	if s.URL != "" {
		if want, err = wanted(s, l); err != nil {
			return false, err
		}
	}
	switch {
	case is == nil && s.URL == "":
		return false, hint.With(errUntold, untold)
	case is == nil:
		return true, t.tell(ctx, d, configuration{want, &pitr{log}})
	case s.URL != "" && is.Storage.place() != want.place():
		return false, hint.With(fmt.Errorf("PBM keeps the backups elsewhere: %s", is.Storage.place()), "leave out --to; pbm config --file sets another place, and PBM then no longer knows of the backups in this one")
	case log && (is.PITR == nil || !is.PITR.Enabled):
		_, err := call(ctx, d, 2*time.Minute, "", "config", "--set=pitr.enabled=true", "--out=json")
		return err == nil, err
	}
	return false, nil
}

var errUntold = errors.New("PBM was never told where backups go")

const untold = "--to s3://bucket/prefix has Plumb tell it, or pbm config --file"

// nothing is how the driver of MongoDB says that there is no such document.
const nothing = "no documents in result"

// configured reads what PBM was told; nil for nothing.
func configured(ctx context.Context, d host.Streamer) (*configuration, error) {
	text, err := call(ctx, d, 2*time.Minute, "", "config", "--out=json")
	if err != nil && strings.Contains(err.Error(), nothing) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var c configuration
	if err := json.Unmarshal(text, &c); err != nil || c.Storage.Type == "" {
		return nil, errors.Join(errors.New("what pbm config gives is not understood"), err)
	}
	return &c, nil
}

// tell writes a configuration, and waits until the agents have looked at what is in the store: a backup that is asked for meanwhile is
// refused. PBM before 2.10 does not wait by itself.
func (t Tool) tell(ctx context.Context, d host.Streamer, c configuration) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if _, err := call(ctx, d, 10*time.Minute, string(text), "config", "--file=-", "--wait", "--out=json"); err != nil {
		return err
	}
	for range 150 {
		if err := await.Pause(ctx, between); err != nil {
			return err
		}
		text, err := call(ctx, d, 2*time.Minute, "", "status", "--out=json")
		if err != nil {
			return err
		}
		if busy, err := running(text); err != nil || !busy {
			return err
		}
	}
	return hint.With(errors.New("PBM is configured, but its agents have not checked the store yet"), "pbm logs shows why; the same command continues")
}

var between = 2 * time.Second // but for tests
