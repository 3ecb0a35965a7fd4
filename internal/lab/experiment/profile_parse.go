package experiment

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumb/internal/units"
)

const (
	longestProfile = 200 // bytes
	mostIOPS       = 1e7
	mostMBs        = 1e6
)

// ParseProfile reads what a volume allows:
//
//	gp2,size=100G        Amazon's gp2 of 100 GiB; gp2,size=100G,credits=1% begins with a bucket that is nearly empty
//	gp3,iops=6000,mbps=250
//	io1,iops=3000        and io2
//	p15                  Azure's Premium SSD of that size: p4 to p50; credits= as with gp2
//	hdd                  a turning disk
//	iops=3000,mbps=125   any limits of reads and writes together; riops, wiops, rmbps, wmbps limit one direction
//	gp3,dip=20s/2s/50%   for the last 2 s of every 20 s it allows half; not where limits are of one direction
//
// mbps are MiB (2^20 bytes) a second, as in Amazon's tables. An empty text is
// no limit. Errors name the word.
func ParseProfile(text string) (Profile, error) {
	if strings.TrimSpace(text) == "" {
		return Profile{}, nil
	}
	if len(text) > longestProfile {
		return Profile{}, fmt.Errorf("a profile has at most %d characters", longestProfile)
	}
	name, w, err := profileWords(text)
	if err != nil {
		return Profile{}, fmt.Errorf("profile %q: %w", text, err)
	}
	p, err := w.profile(name)
	if err == nil {
		w.dip(&p)
		err = w.rest(name)
	}
	if err != nil {
		return Profile{}, fmt.Errorf("profile %q: %w", text, err)
	}
	if name != "" {
		w.used = slices.Insert(w.used, 0, name)
	}
	p.Text = strings.Join(w.used, ",")
	return p, nil
}

// words are the parameters of a profile: word to value. used are those that were
// asked for, as they are printed.
type words struct {
	given map[string]string
	used  []string
	err   error
}

// profileNames are the names there are, for errors.
func profileNames() []string {
	names := []string{"gp2", "gp3", "io1", "io2", "hdd"}
	for _, s := range premiums() {
		names = append(names, s.name)
	}
	return names
}

func profileWords(text string) (name string, w *words, err error) {
	w = &words{given: map[string]string{}}
	for i, part := range strings.Split(text, ",") {
		part = strings.TrimSpace(part)
		word, value, set := strings.Cut(part, "=")
		word, value = strings.TrimSpace(word), strings.TrimSpace(value)
		switch {
		case !set && i == 0:
			if name = strings.ToLower(part); !slices.Contains(profileNames(), name) {
				return "", nil, fmt.Errorf("no volume is called %q: %s are known, or limits such as iops=3000,mbps=125", part, strings.Join(profileNames(), ", "))
			}
			continue
		case !set:
			return "", nil, fmt.Errorf("%q is not written word=value", part)
		case w.given[word] != "":
			return "", nil, fmt.Errorf("%s is listed twice", word)
		case value == "":
			return "", nil, fmt.Errorf("%s has no value", word)
		}
		w.given[word] = value
	}
	return name, w, nil
}

// rest is an error when a word was given that nothing asked for.
func (w *words) rest(name string) error {
	if w.err != nil {
		return w.err
	}
	if len(w.given) > 0 {
		return fmt.Errorf("%q has no meaning here: %s", slices.Min(slices.Collect(maps.Keys(w.given))), profileKnows(name))
	}
	return nil
}

// profileKnows says which words go with a name.
func profileKnows(name string) string {
	switch name {
	case "":
		return "iops, riops, wiops, mbps, rmbps, wmbps and dip do"
	case "gp2":
		return "gp2 takes size, credits and dip"
	case "gp3":
		return "gp3 takes size, iops, mbps and dip"
	case "io1", "io2":
		return name + " takes size, iops and dip"
	case "hdd":
		return "hdd takes only dip"
	}
	for _, s := range premiums() {
		if s.name == name && s.profile().Burst == nil {
			return name + " takes only dip: it has no credits"
		}
	}
	return name + " takes credits and dip"
}

// take gives the value of a word and notes that it was used.
func (w *words) take(word string) (string, bool) {
	value, ok := w.given[word]
	delete(w.given, word)
	return value, ok
}

func (w *words) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

// number reads a word's number of low to high, or gives what holds without it.
func (w *words) number(word string, usual, low, high float64) float64 {
	text, ok := w.take(word)
	if !ok {
		return usual
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= low && v <= high) {
		w.fail("%s is a number of %.10g to %.10g, not %q", word, low, high, text)
		return usual
	}
	w.used = append(w.used, word+"="+strconv.FormatFloat(v, 'f', -1, 64))
	return v
}

func (w *words) size(low, high Bytes) Bytes {
	text, ok := w.take("size")
	if !ok {
		return 0
	}
	b, err := ParseBytes(text)
	if err != nil || b < low || b > high {
		w.fail("size is %s to %s, such as 100G, not %q", low, high, text)
		return 0
	}
	w.used = append(w.used, "size="+b.String())
	return b
}

// credits says how full the bucket is in the beginning.
func (w *words) credits(b *Burst) {
	if b == nil {
		return
	}
	text, ok := w.take("credits")
	if !ok {
		return
	}
	number, percent := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !percent || !(v >= 0 && v <= 100) {
		w.fail("credits is how full the bucket is at the beginning, 0%% to 100%%, not %q", text)
		return
	}
	w.used = append(w.used, "credits="+strconv.FormatFloat(v, 'f', -1, 64)+"%")
	b.Full = v / 100
}

const (
	shortestDip = 500 * time.Millisecond // limits are written anew ten times a second
	longestDip  = time.Hour              // of the whole period
)

// dip reads how the limits vary: EVERY/FOR/TO.
func (w *words) dip(p *Profile) {
	text, ok := w.take("dip")
	if !ok {
		return
	}
	fail := func() {
		w.fail("dip is how often, for how long and to which part, such as 20s/2s/50%%, for at least %s within a period of at most %s, not %q", units.Span(shortestDip), units.Short(longestDip), text)
	}
	parts := strings.Split(text, "/")
	if len(parts) != 3 {
		fail()
		return
	}
	every, err := time.ParseDuration(strings.TrimSpace(parts[0]))
	length, err2 := time.ParseDuration(strings.TrimSpace(parts[1]))
	number, percent := strings.CutSuffix(strings.TrimSpace(parts[2]), "%")
	to, err3 := strconv.ParseFloat(number, 64)
	if errors.Join(err, err2, err3) != nil || !percent || !(to >= 1 && to <= 99) || length < shortestDip || every > longestDip || length > every-shortestDip {
		fail()
		return
	}
	if p.IOPS.Both == 0 && p.Bytes.Both == 0 {
		w.fail("dip goes with limits of reads and writes together: iops or mbps")
		return
	}
	p.Dip = &Dip{every, length, to / 100}
	w.used = append(w.used, fmt.Sprintf("dip=%s/%s/%s%%", units.Short(every), units.Short(length), strconv.FormatFloat(to, 'f', -1, 64)))
}

func (w *words) profile(name string) (Profile, error) {
	switch name {
	case "":
		return w.free()
	case "gp2":
		size := w.size(gibibyte, 16<<40)
		if size == 0 && w.err == nil {
			return Profile{}, errors.New("the limits of gp2 depend on its size: gp2,size=100G")
		}
		p := gp2(size)
		if p.Burst == nil && w.given["credits"] != "" {
			w.fail("gp2 of %s allows %.10g IOPS always and has no credits", size, p.IOPS.Both)
		}
		w.credits(p.Burst)
		return p, nil
	case "gp3":
		return w.gp3(), nil
	case "io1":
		return io1(w.provisioned(name, io1Most, io1PerGiB)), w.err
	case "io2":
		return io2(w.provisioned(name, io2Most, io2PerGiB)), w.err
	case "hdd":
		return hdd(), nil
	}
	for _, s := range premiums() {
		if s.name == name {
			p := s.profile()
			w.credits(p.Burst)
			return p, nil
		}
	}
	return Profile{}, fmt.Errorf("no volume is called %q", name) // profileWords has seen to it
}

func (w *words) gp3() Profile {
	size := w.size(gibibyte, 64<<40)
	iops := w.number("iops", gp3IOPS, gp3IOPS, gp3Most)
	mbs := w.number("mbps", gp3MBs, gp3MBs, gp3MostMBs)
	w.perGiB(size, iops, gp3IOPS, gp3PerGiB)
	if most := math.Floor(iops * gp3PerIOPS); mbs > most {
		w.fail("gp3 gives at most %s/s with %.10g IOPS, not %s/s", units.Size(most*MiB), iops, units.Size(mbs*MiB))
	}
	return Profile{Name: "gp3", IOPS: Pace{Both: iops}, Bytes: Pace{Both: mbs * MiB}, Unit: ebsUnit}
}

// provisioned reads the IOPS of io1 and io2, which have no usual ones.
func (w *words) provisioned(name string, most, perGiB float64) float64 {
	size := w.size(4*gibibyte, 64<<40)
	if w.given["iops"] == "" {
		w.fail("%s is bought with its IOPS: %s,iops=3000", name, name)
		return 0
	}
	iops := w.number("iops", 0, ioLeast, most)
	w.perGiB(size, iops, ioLeast, perGiB)
	return iops
}

// perGiB is a mistake when a volume is too small for its IOPS. A size need not
// be given: nothing else depends on it.
func (w *words) perGiB(size Bytes, iops, least, per float64) {
	if size == 0 {
		return
	}
	if most := math.Max(least, float64(size)/gibibyte*per); iops > most {
		w.fail("a volume of %s has at most %.10g IOPS, not %.10g", size, most, iops)
	}
}

func (w *words) free() (Profile, error) {
	var p Profile
	for _, f := range []struct {
		word string
		to   *float64
		most float64
		unit float64
	}{
		{"iops", &p.IOPS.Both, mostIOPS, 1}, {"riops", &p.IOPS.Read, mostIOPS, 1}, {"wiops", &p.IOPS.Write, mostIOPS, 1},
		{"mbps", &p.Bytes.Both, mostMBs, MiB}, {"rmbps", &p.Bytes.Read, mostMBs, MiB}, {"wmbps", &p.Bytes.Write, mostMBs, MiB},
	} {
		*f.to = w.number(f.word, 0, 1, f.most) * f.unit
	}
	for _, pace := range []struct {
		p    Pace
		word string
	}{{p.IOPS, "iops"}, {p.Bytes, "mbps"}} {
		if pace.p.Both > 0 && (pace.p.Read > 0 || pace.p.Write > 0) {
			w.fail("%[1]s limits reads and writes together, r%[1]s and w%[1]s each alone: one or the other", pace.word)
		}
	}
	return p, w.err
}
