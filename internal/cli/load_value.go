package cli

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// This file has the kinds of values that sysbench's options take.

// seconds is a time, also as a bare number of seconds.
type seconds time.Duration

func (s *seconds) String() string { return time.Duration(*s).String() }
func (s *seconds) Type() string   { return "duration" }

func (s *seconds) Set(text string) error {
	d, err := parseSeconds(text)
	*s = seconds(d)
	return err
}

func parseSeconds(text string) (time.Duration, error) {
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		if !(n >= 0 && n < 1e9) {
			return 0, errors.New("not a time")
		}
		return time.Duration(n * float64(time.Second)), nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, errors.New("not a time")
	}
	return d, nil
}

// onOff is a switch that takes sysbench's words besides Go's.
type onOff bool

func (o *onOff) Type() string { return "on|off" }

func (o *onOff) String() string {
	if *o {
		return "on"
	}
	return "off"
}

func (o *onOff) Set(text string) error {
	switch strings.ToLower(text) {
	case "on", "true", "1", "yes", "t":
		*o = true
	case "off", "false", "0", "no", "f":
		*o = false
	default:
		return errors.New("want on or off")
	}
	return nil
}

// size is a number of bytes, also with K, M, G or T.
type size int64

func (s *size) Type() string { return "size" }

func (s *size) String() string {
	n, unit := int64(*s), ""
	for _, u := range []string{"K", "M", "G", "T"} {
		if n == 0 || n%1024 != 0 {
			break
		}
		n, unit = n/1024, u
	}
	return strconv.FormatInt(n, 10) + unit
}

func (s *size) Set(text string) error {
	digits, factor := text, 1.0
	if text != "" {
		if i := strings.IndexByte("KMGT", strings.ToUpper(text)[len(text)-1]); i >= 0 {
			digits, factor = text[:len(text)-1], math.Pow(1024, float64(i+1))
		}
	}
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil || !(n >= 0 && n*factor < math.MaxInt64) {
		return errors.New("want a size such as 16384, 16K or 2G")
	}
	*s = size(n * factor)
	return nil
}

// numbers is one positive number, or several with commas.
type numbers []int

func (l *numbers) Type() string { return "number" }

func (l *numbers) String() string {
	var list []string
	for _, n := range *l {
		list = append(list, strconv.Itoa(n))
	}
	return strings.Join(list, ",")
}

func (l *numbers) Set(text string) error {
	*l = nil
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil {
			return errors.New("want a number, or several with commas")
		}
		*l = append(*l, n)
	}
	return nil
}

// rate is an offered load in operations a second: one, or from..to.
type rate struct{ from, to float64 }

func (r *rate) Type() string { return "rate" }

func (r *rate) String() string {
	if r.from != r.to {
		return fmt.Sprintf("%g..%g", r.from, r.to)
	}
	return fmt.Sprintf("%g", r.to)
}

func (r *rate) Set(text string) error {
	from, to, ramp := strings.Cut(text, "..")
	var err error
	if r.from, err = rateNumber(from); err != nil {
		return err
	}
	r.to = r.from
	if ramp {
		r.to, err = rateNumber(to)
	}
	return err
}

func rateNumber(text string) (float64, error) {
	n, err := strconv.ParseFloat(strings.TrimSuffix(text, "/s"), 64)
	if err != nil || !(n >= 0 && n <= 1e9) {
		return 0, errors.New("want operations a second such as 500, or 100..2000")
	}
	return n, nil
}
