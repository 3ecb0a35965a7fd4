package s3

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"

	"plumb/internal/backup/store"
)

var _ store.Locker = (*Bucket)(nil)

// versions remembers whether a bucket keeps what is replaced or removed.
type versions struct {
	mu    sync.Mutex
	known bool
	kept  bool
}

// keepsVersions asks once whether a bucket keeps what is replaced or removed. One that does not say so does not.
func (b *Bucket) keepsVersions(ctx context.Context) (bool, error) {
	b.versions.mu.Lock()
	defer b.versions.mu.Unlock()
	if b.versions.known {
		return b.versions.kept, nil
	}
	got, err := b.core.Client.GetBucketVersioning(ctx, b.bucket)
	if err != nil && !unknown(err) {
		return false, said("ask for the versions of", b.bucket, cause(ctx, err))
	}
	// A bucket that kept versions once may have some still.
	b.versions.known, b.versions.kept = true, err == nil && got.Status != ""
	return b.versions.kept, nil
}

// unknown tells whether a store does not know what it was asked for, or whether the bucket has none of it.
func unknown(err error) bool {
	answer := minio.ToErrorResponse(err)
	switch answer.Code {
	case "ObjectLockConfigurationNotFoundError", "NoSuchObjectLockConfiguration", "NotImplemented", "MethodNotAllowed", "VersioningNotConfigured", "InvalidRequest":
		return true
	}
	return answer.StatusCode == http.StatusNotImplemented
}

// Locks implements store.Locker.
func (b *Bucket) Locks(ctx context.Context) (l store.Locks, err error) {
	ctx, end := context.WithTimeout(ctx, b.quiet)
	defer end()
	if l.Versions, err = b.keepsVersions(ctx); err != nil {
		return l, err
	}
	state, _, length, unit, err := b.core.Client.GetObjectLockConfig(ctx, b.bucket)
	if err != nil && !unknown(err) {
		return l, said("ask for the locks of", b.bucket, cause(ctx, err))
	}
	if l.Can = err == nil && state == "Enabled"; l.Can && length != nil && unit != nil {
		days := time.Duration(*length)
		if *unit == minio.Years {
			days *= 365
		}
		l.Always = days * 24 * time.Hour
	}
	return l, nil
}

// Until implements store.Locker. It is asked of the head of the object: stores differ in how they answer when they are
// asked for the retention itself.
func (b *Bucket) Until(ctx context.Context, name string) (time.Time, error) {
	if err := store.Check(name); err != nil {
		return time.Time{}, err
	}
	ctx, end := context.WithTimeout(ctx, b.quiet)
	defer end()
	o, err := b.core.Client.StatObject(ctx, b.bucket, b.before+name, minio.StatObjectOptions{})
	if err != nil {
		return time.Time{}, said("ask until when is kept", name, cause(ctx, err))
	}
	text := o.Metadata.Get("X-Amz-Object-Lock-Retain-Until-Date")
	if text == "" {
		return time.Time{}, nil
	}
	until, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return until, fmt.Errorf("ask until when %s is kept: the store says %q", name, text)
	}
	return until, nil
}

// Lock implements store.Locker.
func (b *Bucket) Lock(ctx context.Context, name string, until time.Time) error {
	if err := store.Check(name); err != nil {
		return err
	}
	ctx, end := context.WithTimeout(ctx, b.quiet)
	defer end()
	mode, until := minio.Compliance, until.UTC().Truncate(time.Second)
	err := b.core.Client.PutObjectRetention(ctx, b.bucket, b.before+name, minio.PutObjectRetentionOptions{Mode: &mode, RetainUntilDate: &until})
	return said("lock", name, cause(ctx, err))
}

// deleteVersions removes an object with all that it was before: in a bucket that keeps versions a plain removal adds one. The newest goes
// last: whatever stops this, the store having locked an older one too, what had taken its place is still in it, and not what was there before.
// A manifest under the stone of a prune would count again.
func (b *Bucket) deleteVersions(ctx context.Context, name string) error {
	all, err := b.versionsOf(ctx, name)
	if err != nil {
		return err
	}
	slices.Reverse(all) // they are listed newest first
	slices.SortStableFunc(all, func(a, b minio.ObjectInfo) int { return newest(a) - newest(b) })
	for _, o := range all {
		if err := b.core.Client.RemoveObject(ctx, b.bucket, o.Key, minio.RemoveObjectOptions{VersionID: o.VersionID}); err != nil {
			return err
		}
	}
	return nil
}

// versionsOf lists what an object is and was.
func (b *Bucket) versionsOf(ctx context.Context, name string) (all []minio.ObjectInfo, err error) {
	for o, err := range b.listed(ctx, minio.ListObjectsOptions{Prefix: b.before + name, WithVersions: true, Recursive: true}) {
		if err != nil {
			return nil, err
		}
		if o.Key == b.before+name {
			all = append(all, o)
		}
	}
	return all, nil
}

func newest(o minio.ObjectInfo) int {
	if o.IsLatest {
		return 1
	}
	return 0
}
