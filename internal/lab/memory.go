package lab

import (
	"context"
	"time"
)

// group is the control group of a trial's server.
type group struct{}

func (g group) dirs() []string { return nil }

func (g group) cpu(context.Context) (time.Duration, bool) { return 0, false }

func (g group) kills(context.Context) (int64, bool) { return 0, false }

func (b *bench) limitMemory(context.Context) error { return nil }
