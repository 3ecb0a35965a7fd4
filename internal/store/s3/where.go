package s3

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"plumb/internal/backup/store"
)

var _ store.Placed = (*Bucket)(nil)

// Where implements store.Placed. Of Amazon a region fails together, of others the server, which may be many. A login that
// is lent for some hours has a name of its own each time, which tells nothing.
func (b *Bucket) Where(ctx context.Context) (w store.Where) {
	ctx, end := context.WithTimeout(ctx, b.quiet)
	defer end()
	host := b.core.Client.EndpointURL().Hostname()
	w.Site = host
	if isAmazon(host) {
		w.Site = ""
		if region, err := b.core.Client.GetBucketLocation(ctx, b.bucket); err == nil && region != "" {
			w.Site = "the region " + region + " of Amazon"
		}
	}
	if login, err := b.core.Client.GetCreds(); err == nil && login.AccessKeyID != "" && login.SessionToken == "" {
		sum := sha256.Sum256([]byte("plumb login\n" + login.AccessKeyID))
		w.Login = hex.EncodeToString(sum[:6])
	}
	return w
}

// isAmazon tells whether a host is one of Amazon's.
func isAmazon(host string) bool {
	return host == "amazonaws.com" || strings.HasSuffix(host, ".amazonaws.com")
}
