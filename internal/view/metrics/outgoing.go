package metrics

// Outgoing is what became of the samples that remote write was to send.
type Outgoing struct {
	Sent, Dropped, Refused float64 // samples
	Retries                float64 // requests
	Waiting                int     // requests
}

// Sending has the exporter say how remote write does. It is asked at each scrape.
func (e *Exporter) Sending(ask func() Outgoing) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.outgoing = ask
}

func (e *Exporter) aboutSending(fs *families) {
	if e.outgoing == nil {
		return
	}
	o := e.outgoing()
	fs.counter("plumb_remote_write_samples_total", "samples that remote write has sent", o.Sent)
	fs.counter("plumb_remote_write_dropped_samples_total", "samples that were dropped because the receiver accepted none for too long", o.Dropped)
	fs.counter("plumb_remote_write_refused_samples_total", "samples that the receiver refused for good", o.Refused)
	fs.counter("plumb_remote_write_retries_total", "requests that had to be sent again", o.Retries)
	fs.gauge("plumb_remote_write_waiting_requests", "requests that wait to be sent", float64(o.Waiting))
}
