package page

import (
	"strings"
	"time"
)

// Right pads s on the left to n columns.
func Right(s string, n int) string { return strings.Repeat(" ", max(0, n-Width(s))) + s }

// Ms is a duration in milliseconds, the unit of sysbench and of JSON.
func Ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// ShortHash is as much of a hash as people need.
func ShortHash(h string) string { return h[:min(8, len(h))] }
