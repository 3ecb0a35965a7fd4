package block

import (
	"context"
	"strconv"
	"strings"

	"plumb/internal/stack"
)

// A reading turns the text of a sysfs attribute into a value; ok is false for
// text it does not understand.
type reading func(text string) (v stack.Value, ok bool)

func text(s string) (stack.Value, bool) { return stack.Text(s), s != "" }

func integer(s string) (stack.Value, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return stack.Int(n), err == nil
}

// times reads a number of units of so many bytes.
func times(unit int64) reading {
	return func(s string) (stack.Value, bool) {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < 0 || n > (1<<62)/unit {
			return stack.Value{}, false
		}
		return stack.Int(n * unit), true
	}
}

func truth(s string) (stack.Value, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return stack.Bool(n != 0), err == nil
}

// chosen reads a list with the value in force in brackets: "none [bfq] kyber".
// A file with one choice may have no brackets.
func chosen(s string) (stack.Value, bool) {
	_, rest, open := strings.Cut(s, "[")
	name, _, closed := strings.Cut(rest, "]")
	if open && closed && name != "" {
		return stack.Text(name), true
	}
	return stack.Text(s), s != "" && !strings.ContainsAny(s, " []")
}

// set reads one attribute into a fact. An attribute this kernel or driver does
// not have is an absent fact.
func (d *device) set(ctx context.Context, fact, attribute string, read reading) {
	d.setFrom(ctx, fact, d.dir+"/"+attribute, read)
}

func (d *device) setFrom(ctx context.Context, fact, name string, read reading) {
	gaps := len(d.obs.Gaps)
	s, ok := d.textAt(ctx, name, fact)
	if !ok {
		if len(d.obs.Gaps) == gaps {
			d.thing.SetAbsent(fact, name)
		}
		return
	}
	v, ok := read(s)
	if !ok {
		d.obs.Gap(d.thing.Ref, name+": not understood: "+strconv.Quote(head(s, 60)), "", fact)
		return
	}
	d.thing.Set(fact, v, name)
}

func head(s string, n int) string { return s[:min(n, len(s))] }
