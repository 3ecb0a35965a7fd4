package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"
)

// fleet is the agents that send.
type fleet struct {
	template *template
	url      string
	interval time.Duration
	client   http.Client

	mu     sync.Mutex
	took   []time.Duration
	failed int
	sent   int
	all    sync.WaitGroup
	end    []context.CancelFunc
	agents int
}

// grow adds agents, each with a place of its own within the interval.
func (f *fleet) grow(ctx context.Context, n int) {
	if f.client.Transport == nil {
		f.client = http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64, MaxConnsPerHost: 64}}
	}
	ctx, cancel := context.WithCancel(ctx)
	f.end = append(f.end, cancel)
	for i := range n {
		agent := f.agents + i
		f.all.Go(func() {
			time.Sleep(f.interval * time.Duration(i) / time.Duration(n))
			tick := time.NewTicker(f.interval)
			defer tick.Stop()
			for ctx.Err() == nil {
				f.send(ctx, agent)
				select {
				case <-tick.C:
				case <-ctx.Done():
				}
			}
		})
	}
	f.agents += n
}

func (f *fleet) send(ctx context.Context, agent int) {
	body := f.template.request(agent, time.Now())
	began := time.Now()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url+"/api/v1/write", bytes.NewReader(body))
	if err != nil {
		return
	}
	req.Header.Set("Content-Encoding", "snappy")
	resp, err := f.client.Do(req)
	well := err == nil && resp.StatusCode/100 == 2
	if err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	if ctx.Err() != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.took = append(f.took, time.Since(began))
	if well {
		f.sent += len(f.template.values)
	} else {
		f.failed++
	}
}

// lately gives what was sent since it was asked last: samples, the 99th
// percentile of how long requests took, and how many failed.
func (f *fleet) lately() (samples int, p99 time.Duration, failed int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	slices.Sort(f.took)
	if n := len(f.took); n > 0 {
		p99 = f.took[n*99/100]
	}
	samples, failed = f.sent, f.failed
	f.took, f.sent, f.failed = nil, 0, 0
	return samples, p99, failed
}

func (f *fleet) stop() {
	for _, end := range f.end {
		end()
	}
	f.all.Wait()
}
