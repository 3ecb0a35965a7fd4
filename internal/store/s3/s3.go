// Package s3 keeps the objects of backups in a bucket of anything that speaks S3. It sends whole
// objects in one request each, with a hash that it has computed itself: no upload in parts, no
// checksum behind the body, nothing that only some stores know.
package s3

import (
	"bytes"
	"cmp"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"

	"plumb/internal/backup/store"
	"plumb/internal/hint"
)

// Options say which bucket, and how it is reached.
type Options struct {
	Endpoint string // "https://host:port"; "": Amazon's
	Region   string // "": asked of the store
	Bucket   string
	Prefix   string // without slashes at its ends; "" for none
	Name     string // how the command line calls it; "" for s3://bucket/prefix
	// Profile is a part of ~/.aws/credentials, which alone is looked at then: two stores hardly have the same login.
	Profile string
	// Key and Secret; "" to look where the AWS tools look: environment, file, role of the machine.
	Key, Secret string
	// Authorities say whether an endpoint is who it should be; nil for those of this machine.
	Authorities *x509.CertPool
	Transport   http.RoundTripper // nil for one with the limits of this package
}

// Bucket is a part of a bucket.
type Bucket struct {
	core   *minio.Core
	bucket string
	before string // what all names begin with: "prefix/"
	url    string

	quiet    time.Duration // quietTime, but for tests
	versions versions
	locks    atomic.Bool // all that is written, as it said
}

var _ store.Store = (*Bucket)(nil)

// Open makes ready to talk to a store. It asks nothing yet.
func Open(o Options) (*Bucket, error) {
	at, err := endpoint(o.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("open the bucket %s: %w", o.Bucket, err)
	}
	if err := s3utils.CheckValidBucketName(o.Bucket); err != nil {
		return nil, fmt.Errorf("open the bucket %q: %w", o.Bucket, err)
	}
	if isAmazon(at.Hostname()) && strings.HasSuffix(o.Bucket, "--x-s3") {
		return nil, hint.With(fmt.Errorf("open the bucket %s: it is a directory bucket, which does not list objects in order", o.Bucket), "use a general purpose bucket")
	}
	if o.Prefix != "" {
		if err := store.Check(o.Prefix); err != nil {
			return nil, fmt.Errorf("open the bucket %s: its prefix: %w", o.Bucket, err)
		}
		o.Prefix += "/"
	}
	if o.Profile != "" { // or it would be looked for again and again, as a store that is away
		if v, err := (&credentials.FileAWSCredentials{Profile: o.Profile}).RetrieveWithCredContext(nil); err != nil || v.AccessKeyID == "" {
			return nil, hint.With(fmt.Errorf("open the bucket %s: there is no login of the profile %q: %w", o.Bucket, o.Profile, cmp.Or(err, errors.New("it is empty"))), "it is a part of ~/.aws/credentials, or of the file that $AWS_SHARED_CREDENTIALS_FILE names")
		}
	}
	if o.Transport == nil {
		o.Transport = transport(o.Authorities)
	}
	// One try of its own: what is tried again, and for how long, is decided by who calls.
	core, err := minio.NewCore(at.Host, &minio.Options{Creds: login(o), Secure: at.Scheme == "https", Region: o.Region, Transport: answers{o.Transport}, MaxRetries: 1})
	if err != nil {
		return nil, fmt.Errorf("open the bucket %s: %w", o.Bucket, err)
	}
	return &Bucket{core: core, quiet: quietTime, bucket: o.Bucket, before: o.Prefix, url: cmp.Or(o.Name, strings.TrimSuffix("s3://"+o.Bucket+"/"+o.Prefix, "/"))}, nil
}

// endpoint reads where a store is. What is wrong with it is not quoted where it can have a login: it is shown and kept as a place.
func endpoint(text string) (*url.URL, error) {
	if text == "" {
		return &url.URL{Scheme: "https", Host: "s3.amazonaws.com"}, nil
	}
	at, err := url.Parse(text)
	switch {
	case strings.Contains(text, "@"):
		return nil, hint.With(errors.New("its endpoint has a login in it"), "the login is in $AWS_ACCESS_KEY_ID and $AWS_SECRET_ACCESS_KEY, or where the tools of AWS keep it; an endpoint is https://HOST or https://HOST:PORT")
	case err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http" || strings.Trim(at.Path, "/") != "":
		return nil, hint.With(fmt.Errorf("%q is not an endpoint", text), "an endpoint is https://HOST or https://HOST:PORT")
	}
	return at, nil
}

func login(o Options) *credentials.Credentials {
	if o.Key != "" {
		return credentials.NewStaticV4(o.Key, o.Secret, "")
	}
	if o.Profile != "" {
		return credentials.New(&credentials.FileAWSCredentials{Profile: o.Profile})
	}
	return credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{}})
}

// URL implements store.Store.
func (b *Bucket) URL() string { return b.url }

// Put implements store.Store.
func (b *Bucket) Put(ctx context.Context, name string, data []byte, o store.Put) (string, error) {
	if err := store.Check(name); err != nil {
		return "", err
	}
	locked := !o.Until.IsZero() || b.locks.Load()
	tag, err := b.put(ctx, name, data, o, locked)
	if !locked && wantsMD5(err) {
		b.locks.Store(true)
		tag, err = b.put(ctx, name, data, o, true)
	}
	if err != nil {
		err = said("keep", name, err)
		if o.Was != "" && errors.Is(err, store.ErrNotFound) || o.Was != "" && errors.Is(err, store.ErrExists) {
			err = fmt.Errorf("keep %s: %w", name, store.ErrChanged)
		}
		return "", err
	}
	return tag, nil
}

// put sends an object once. locked: it will be, because we ask for it or the bucket locks all.
func (b *Bucket) put(ctx context.Context, name string, data []byte, o store.Put, locked bool) (string, error) {
	var p minio.PutObjectOptions
	p.DisableMultipart = true
	p.DisableContentSha256 = true // the hash of the whole signs it; this would sign it once more, piece by piece
	if o.New {
		p.SetMatchETagExcept("*")
	}
	if o.Was != "" {
		p.SetMatchETag(o.Was)
	}
	if !o.Until.IsZero() {
		p.Mode, p.RetainUntilDate = minio.Compliance, o.Until
	}
	ctx, request, end := b.moving(ctx)
	defer end()
	got, err := b.core.PutObject(ctx, b.bucket, b.before+name, &watched{bytes.NewReader(data), request}, int64(len(data)), lockSum(data, locked), sum(data, o), p)
	if err != nil {
		return "", cause(ctx, err)
	}
	return got.ETag, tagged(got.ETag)
}

// wantsMD5 tells whether a store refuses an object because it would be locked, and came without an MD5: so Amazon does in a
// bucket with a retention of its own.
func wantsMD5(err error) bool {
	answer := minio.ToErrorResponse(err)
	return answer.StatusCode == http.StatusBadRequest && strings.Contains(answer.Message, "Content-MD5")
}

// sum is the hash that the request is signed with, so that a store refuses what was damaged on its way.
func sum(data []byte, o store.Put) string {
	if o.SHA256 != "" {
		return o.SHA256
	}
	made := sha256.Sum256(data)
	return hex.EncodeToString(made[:])
}

// lockSum is the MD5 that S3 asks for where an object is locked. Elsewhere it would tell nothing more, and MD5 is the
// slowest step on the way of a chunk.
func lockSum(data []byte, locked bool) string {
	if !locked {
		return ""
	}
	made := md5.Sum(data)
	return base64.StdEncoding.EncodeToString(made[:])
}

// Get implements store.Store.
func (b *Bucket) Get(ctx context.Context, name string, into []byte) (data []byte, tag string, err error) {
	if err := store.Check(name); err != nil {
		return nil, "", err
	}
	ctx, request, end := b.moving(ctx)
	defer end()
	body, info, _, err := b.core.GetObject(ctx, b.bucket, b.before+name, minio.GetObjectOptions{})
	if err != nil {
		return nil, "", said("read", name, cause(ctx, err))
	}
	defer body.Close()
	if err := tagged(info.ETag); err != nil {
		return nil, "", said("read", name, err)
	}
	if info.Size > int64(cap(into)) {
		return nil, "", said("read", name, store.ErrTooLarge)
	}
	// The size it says may be none: the buffer is the limit.
	n, err := io.ReadFull(&watched{body, request}, into[:cap(into)])
	if err == nil {
		var one [1]byte
		if more, _ := body.Read(one[:]); more > 0 {
			return nil, "", said("read", name, store.ErrTooLarge)
		}
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = nil
		if info.Size >= 0 && int64(n) != info.Size {
			err = &store.Trouble{Err: fmt.Errorf("%d of %d bytes came", n, info.Size)}
		}
	}
	if err != nil {
		return nil, "", said("read", name, cause(ctx, err))
	}
	return into[:n], info.ETag, nil
}

// List implements store.Store.
func (b *Bucket) List(ctx context.Context, prefix string, each func(store.Info) error) error {
	last := ""
	for o, err := range b.listed(ctx, minio.ListObjectsOptions{Prefix: b.before + prefix, Recursive: true}) {
		if err != nil {
			return said("list", prefix, err)
		}
		if o.Key <= last { // also of what is somebody else's: who asks never sees it, and would wait without end
			return said("list", prefix, &badList{fmt.Sprintf("the store names %q after %q", o.Key, last)})
		}
		last = o.Key
		name, ours := strings.CutPrefix(o.Key, b.before)
		if ours && store.Check(name) == nil { // or it is somebody else's
			if err := each(store.Info{Name: name, Size: o.Size, Modified: o.LastModified, Tag: o.ETag}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Delete implements store.Store. Where a bucket keeps versions all of them go, or nothing would become free.
func (b *Bucket) Delete(ctx context.Context, name string) error {
	if err := store.Check(name); err != nil {
		return err
	}
	ctx, end := context.WithTimeout(ctx, b.quiet)
	defer end()
	kept, err := b.keepsVersions(ctx)
	if err != nil && !errors.Is(err, store.ErrDenied) {
		return err
	}
	if kept {
		err = b.deleteVersions(ctx, name)
	} else {
		err = b.core.Client.RemoveObject(ctx, b.bucket, b.before+name, minio.RemoveObjectOptions{})
	}
	err = said("remove", name, cause(ctx, err))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// said words an error, and says what it means to who keeps objects.
func said(did, name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", did, name, means(err))
}

// means tells what an error means. The codes are those of Amazon's reference of errors; what is
// not known from there and came without an answer is a line that failed.
func means(err error) error {
	if errors.Is(err, store.ErrTooLarge) || errors.Is(err, context.Canceled) {
		return err
	}
	if _, ok := errors.AsType[*store.Trouble](err); ok {
		return err
	}
	if bad, is := errors.AsType[*badList](err); is {
		return bad
	}
	if never := misled(err); never != nil {
		return never
	}
	answer := minio.ToErrorResponse(err)
	switch {
	case answer.Code == minio.NoSuchKey, answer.StatusCode == http.StatusNotFound && answer.Code != minio.NoSuchBucket:
		return store.ErrNotFound
	case answer.Code == minio.NoSuchBucket:
		return hint.With(fmt.Errorf("there is no bucket %s", cmp.Or(answer.BucketName, "of that name")), "create it first: Plumb creates no buckets")
	case answer.StatusCode == http.StatusNotImplemented, answer.Code == "NotImplemented": // it stays so, however often it is asked
		return hint.With(fmt.Errorf("the store does not support the request: %s", cmp.Or(answer.Message, answer.Code)), "use a store that honours If-None-Match and If-Match: Amazon S3, MinIO, VersityGW and Ceph do")
	case answer.StatusCode == http.StatusPreconditionFailed:
		return store.ErrExists
	case answer.StatusCode >= 300 && answer.StatusCode < 400: // minio-go follows none: the login would go along
		return hint.With(fmt.Errorf("the endpoint answers that it is elsewhere (%d): %s", answer.StatusCode, cmp.Or(answer.Message, answer.Code)), "--endpoint and --region say where the bucket is; a proxy that needs a login of its own also answers like that")
	case answer.Code == "ConditionalRequestConflict", answer.Code == "OperationAborted": // another was at it: what came of that, the same request finds when it is made again
		return &store.Trouble{Err: err}
	case answer.StatusCode == http.StatusForbidden && answer.Code == "RequestTimeTooSkewed":
		return hint.With(errors.New("the clock of this machine and that of the store are too far apart"), "set the clock; the store accepts a difference of at most 15 minutes")
	case answer.Code == "QuotaExceeded", answer.Code == "XMinioStorageFull", answer.StatusCode == http.StatusInsufficientStorage: // of VersityGW and Ceph the first is a 403
		return store.ErrFull
	case answer.StatusCode == http.StatusForbidden, answer.StatusCode == http.StatusUnauthorized:
		return hint.With(fmt.Errorf("%w: %s", store.ErrDenied, answer.Code), "the login is the one of $AWS_ACCESS_KEY_ID and $AWS_SECRET_ACCESS_KEY, of ~/.aws/credentials or of the machine's role; it must list, read and write below the prefix")
	case answer.StatusCode == http.StatusServiceUnavailable, answer.StatusCode == http.StatusTooManyRequests, answer.Code == "SlowDown":
		return &store.Trouble{Err: err, Slow: true}
	case answer.StatusCode >= 500, answer.StatusCode == 0, answer.StatusCode == http.StatusRequestTimeout,
		answer.Code == "RequestTimeout", answer.Code == "BadDigest", answer.Code == "XAmzContentSHA256Mismatch", answer.Code == "IncompleteBody":
		return &store.Trouble{Err: err}
	}
	return err
}

// misled tells of a server with which nothing will come of it, however often it is tried: it is not who it should be, or speaks
// no TLS.
func misled(err error) error {
	if c, is := errors.AsType[*tls.CertificateVerificationError](err); is {
		help := "$AWS_CA_BUNDLE names a file of certificate authorities to trust in place of this machine's, and $SSL_CERT_FILE replaces this machine's"
		if bad, is := errors.AsType[x509.CertificateInvalidError](c.Err); is && bad.Reason == x509.Expired {
			help = "check the clock of this machine; if it is right, the certificate must be renewed"
		}
		return hint.With(fmt.Errorf("the certificate of the endpoint is not trusted: %w", c.Err), help)
	}
	if strings.Contains(err.Error(), "server gave HTTP response to HTTPS client") {
		return hint.With(errors.New("the endpoint does not use TLS"), "use http://HOST:PORT, if nobody else can read that connection")
	}
	return nil
}

// transport has a limit for all that a server could make us wait for.
func transport(authorities *x509.CertPool) http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	if authorities != nil {
		t.TLSClientConfig = &tls.Config{RootCAs: authorities}
	}
	t.TLSHandshakeTimeout, t.ResponseHeaderTimeout, t.ExpectContinueTimeout = 15*time.Second, quietTime, 2*time.Second
	t.MaxIdleConnsPerHost, t.IdleConnTimeout = 32, time.Minute
	t.DisableCompression = true
	t.MaxResponseHeaderBytes = 64 << 10
	return t
}

// Login gives the login that is in the environment or in ~/.aws/credentials, for a program that cannot look there; nothing
// where the machine has a role, or none.
func Login() (key, secret, token string) {
	for _, from := range []credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}} {
		if v, err := from.RetrieveWithCredContext(nil); err == nil && v.AccessKeyID != "" {
			return v.AccessKeyID, v.SecretAccessKey, v.SessionToken
		}
	}
	return "", "", ""
}
