// Package value has the kinds of values that flags take: those of sysbench's options, and names of servers.
package value

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"plumb/internal/product"
	"plumb/internal/stack"
	"plumb/internal/units"
)

// Seconds is a time, also as a bare number of seconds.
type Seconds time.Duration

// String implements pflag.Value.
func (s *Seconds) String() string { return units.Short(time.Duration(*s)) }

// Type implements pflag.Value.
func (s *Seconds) Type() string { return "duration" }

// Set implements pflag.Value.
func (s *Seconds) Set(text string) error {
	d, err := ParseSeconds(text)
	*s = Seconds(d)
	return err
}

// ParseSeconds reads a time, also a bare number of seconds.
func ParseSeconds(text string) (time.Duration, error) {
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

// OnOff is a switch that takes sysbench's words besides Go's.
type OnOff bool

// Type implements pflag.Value.
func (o *OnOff) Type() string { return "on|off" }

// String implements pflag.Value.
func (o *OnOff) String() string {
	if *o {
		return "on"
	}
	return "off"
}

// Set implements pflag.Value.
func (o *OnOff) Set(text string) error {
	switch strings.ToLower(text) {
	case "on", "true", "1", "yes", "t":
		*o = true
	case "off", "false", "0", "no", "f":
		*o = false
	default:
		return errors.New("use on or off")
	}
	return nil
}

// Size is a number of bytes, also with K, M, G or T.
type Size int64

// Type implements pflag.Value.
func (s *Size) Type() string { return "size" }

// String implements pflag.Value.
func (s *Size) String() string { return units.Typed(int64(*s), "", "K", "M", "G", "T") }

// Set implements pflag.Value.
func (s *Size) Set(text string) error {
	n, ok := units.ParseBytes(text)
	if !ok || n == math.MaxInt64 {
		return errors.New("use a size such as 16384, 16K or 2G")
	}
	*s = Size(n)
	return nil
}

// Numbers is one positive number, or several with commas.
type Numbers []int

// Type implements pflag.Value.
func (l *Numbers) Type() string { return "number" }

// String implements pflag.Value.
func (l *Numbers) String() string {
	var list []string
	for _, n := range *l {
		list = append(list, strconv.Itoa(n))
	}
	return strings.Join(list, ",")
}

// Set implements pflag.Value.
func (l *Numbers) Set(text string) error {
	*l = nil
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil {
			return errors.New("use a number, or several separated by commas")
		}
		*l = append(*l, n)
	}
	return nil
}

// Rate is an offered load in operations a second: one, or from..to.
type Rate struct{ From, To float64 }

// Type implements pflag.Value.
func (r *Rate) Type() string { return "rate" }

// String implements pflag.Value.
func (r *Rate) String() string {
	if r.From != r.To {
		return fmt.Sprintf("%g..%g", r.From, r.To)
	}
	return fmt.Sprintf("%g", r.To)
}

// Set implements pflag.Value.
func (r *Rate) Set(text string) error {
	from, to, ramp := strings.Cut(text, "..")
	var err error
	if r.From, err = rateNumber(from); err != nil {
		return err
	}
	r.To = r.From
	if ramp {
		r.To, err = rateNumber(to)
	}
	return err
}

func rateNumber(text string) (float64, error) {
	n, err := strconv.ParseFloat(strings.TrimSuffix(text, "/s"), 64)
	if err != nil || !(n >= 0 && n <= 1e9) {
		return 0, errors.New("use a number of operations per second such as 500, or 100..2000")
	}
	return n, nil
}

// Server is a flag's value that names a server as plumb check does, mysql:3306.
type Server string

// Set implements pflag.Value.
func (s *Server) Set(text string) error {
	ref, err := stack.ParseRef(text)
	if err == nil && !product.IsServer(ref.Kind) {
		err = fmt.Errorf("%q is not a server: use one of %s, a colon, and its name, as in mysql:3306", text, strings.Join(product.Kinds(), ", "))
	}
	if err == nil {
		*s = Server(text)
	}
	return err
}

// String implements pflag.Value.
func (s *Server) String() string { return string(*s) }

// Type implements pflag.Value.
func (*Server) Type() string { return "server" }

// KindOf is the kind of the server that a word names, as mysql:3306, mariadb:3306 and mysql do; "" of one that names none.
func KindOf(word string) string {
	word, _, _ = strings.Cut(strings.ToLower(word), ":")
	return cmp.Or(product.Of(word).Kind, product.OfFlavor(word).Kind, product.OfScheme(word).Kind)
}

// Means tells whether it is the name of a server, or of its kind.
func (s Server) Means(ref stack.Ref) bool {
	_, name, _ := strings.Cut(string(s), ":")
	return KindOf(string(s)) == ref.Kind && (name == "" || name == ref.Name)
}
