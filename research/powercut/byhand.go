package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"plumb/research/powercut/writelog"
)

// replay makes the image of one cut of any log.
func (o order) replay(ctx context.Context) error {
	if o.base == "" || o.image == "" {
		return errors.New("-replay wants -base and -image too")
	}
	if _, err := os.Stat(o.image); err == nil {
		return fmt.Errorf("%s is there already", o.image)
	}
	log, err := os.Open(o.log)
	if err != nil {
		return err
	}
	defer log.Close()
	st, err := log.Stat()
	if err != nil {
		return err
	}
	l, err := writelog.Read(log, st.Size())
	if err != nil {
		return fmt.Errorf("%s: %w", o.log, err)
	}
	fmt.Printf("%d entries, %d of them flushes, sectors of %d bytes\n", len(l.Entries), len(l.Flushes()), l.SectorSize)
	if l.Hole {
		fmt.Println("an entry is missing and others follow it: what they were cannot be known")
	}
	end := o.end
	if end < 0 {
		end = len(l.Entries)
	}
	c, err := l.Draw(end, o.seed)
	if err != nil {
		return err
	}
	fmt.Println(c)
	return replayTo(ctx, l, log, o.base, o.image, c)
}
