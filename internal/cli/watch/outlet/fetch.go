package outlet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// Fetch reads a page that another process offers.
func Fetch(ctx context.Context, t Target) (io.ReadCloser, error) {
	p, err := NewPush(t, "", nil)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url, nil)
	if err != nil {
		return nil, err
	}
	if p.authorization != "" {
		req.Header.Set("Authorization", p.authorization)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err
		}
		return nil, fmt.Errorf("read %s: %w", p.shown, err)
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, fmt.Errorf("read %s: %s", p.shown, resp.Status)
	}
	return resp.Body, nil
}
