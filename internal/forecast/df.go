package forecast

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"plumb/internal/hint"
)

// What df writes of a filesystem, behind its name and perhaps a date: size, used,
// available, per cent, on macOS also inodes, and where it is mounted.
var (
	dfRow    = regexp.MustCompile(`^(.*?)\s+([0-9.,]+[A-Za-z]*|-)\s+([0-9.,]+[A-Za-z]*|-)\s+(-?[0-9.,]+[A-Za-z]*|-)\s+([0-9]+%|-)\s+(?:[0-9]+\s+[0-9]+\s+[0-9]+%\s+)?(/.*)$`)
	dfBlocks = regexp.MustCompile(`(?:^|\s)([0-9]+)([KMGT]?)B?-[Bb]l`)
	dfHeader = regexp.MustCompile(`(?:^|\s)Filesystem(?:\s.*)?\s(?:Size|[0-9]+[KMGT]?B?-blocks|Inodes|Type)\s`)
	dfAbroad = regexp.MustCompile(`[^0-9\s]%\s+\S`) // in other languages only the per cent sign stays
)

// What is no disk's: these names stand where others have their device.
var noDisk = []string{"tmpfs", "devtmpfs", "udev", "ramfs", "overlay", "shm", "none", "efivarfs", "run", "dev", "squashfs"}

const linesOfDF = 50 // within which a log of df has one of its lines

// isDF tells whether a text is what df wrote, with dates between.
func isDF(text []byte) bool {
	n := 0
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); dfRow.Match(line) || dfHeader.Match(line) && !bytes.Contains(line, []byte("\t")) {
			return true
		}
		if n++; n > linesOfDF {
			break
		}
	}
	return false
}

// dfLog is where a log of df is.
type dfLog struct {
	at    time.Time // of the last line that was a date
	block unit      // that numbers without a unit count; without a header it is not told
	head  bool
	name  string // one so long that its numbers are in the next line
}

// df reads a log of df, once.
func (f *file) df(text []byte) error {
	log := dfLog{block: unit{bytes: 1024}}
	line := 0
	for each := range bytes.Lines(text) {
		line++
		if err := f.dfLine(&log, strings.TrimSpace(string(each)), line); err != nil {
			return atLine(line, err, wantedOfDF)
		}
	}
	return nil
}

const wantedOfDF = "it needs the output of df with the date on a line before each, as { date; df -k; } prints it; or with the date in each line"

func (f *file) dfLine(log *dfLog, text string, line int) error {
	switch {
	case text == "" || text[0] == '#' || strings.HasPrefix(text, "df: ") || strings.HasPrefix(text, "total "):
		return nil
	case dfHeader.MatchString(text), dfBlocks.MatchString(text), dfAbroad.MatchString(text):
		return log.header(text)
	}
	if log.name != "" {
		log.name, text = "", log.name+" "+text
	}
	if m := dfRow.FindStringSubmatch(text); m != nil {
		return f.dfReading(log, m, line)
	}
	at, err := f.dates.parse(text, line)
	switch {
	case err == nil:
		log.at = at
	case strings.HasPrefix(text, "/") && !strings.Contains(text, " "):
		log.name = text
	case hint.Of(err) != "":
		return err
	default:
		return fmt.Errorf("%q is neither a line of df nor a date", Clip(text))
	}
	return nil
}

// header reads what numbers count.
func (log *dfLog) header(text string) error {
	log.head = true
	m := dfBlocks.FindStringSubmatch(text)
	switch {
	case strings.Contains(text, "Inodes"):
		return hint.With(errors.New("these are inodes, and not bytes"), "use the output of df without -i")
	case m == nil: // df -h, which writes units
		log.block = unit{bytes: 1}
	default:
		each, _ := unitOf(m[2])
		log.block = unit{bytes: each.bytes * float64(toInt(m[1]))}
	}
	return nil
}

// dfReading takes a line: m are its parts.
func (f *file) dfReading(log *dfLog, m []string, line int) error {
	at, device, err := f.dfDate(log, strings.Fields(m[1]), line)
	if err != nil {
		return err
	}
	if m[3] == "-" || f.dates.learning || slices.Contains(noDisk, device) || strings.HasPrefix(device, "/dev/loop") {
		return nil
	}
	if !log.head {
		f.note("df without its header is taken to count in blocks of 1024 bytes, or in the units that it writes")
	}
	if _, word := cut(m[3]); word != "" {
		f.note("sizes with a letter are read as powers of 1024, as df -h writes them (df -H has powers of 1000); less growth than their digits show is not seen")
	}
	used, err := dfBytes(m[3], log.block)
	if err != nil {
		return err
	}
	t, err := f.more(m[6])
	if err != nil || f.later(at) {
		return err
	}
	t.add(Day{at, used}, line)
	if free, err := dfFree(m[4], log.block); err == nil {
		t.sized(Day{at, used}, used+free, "what is in use and available; what the filesystem keeps back for root is not")
	}
	return nil
}

// dfDate parts what is before the numbers into a date and the device.
func (f *file) dfDate(log *dfLog, words []string, line int) (at time.Time, device string, err error) {
	var first error
	for n := min(len(words)-1, 7); n > 0; n-- {
		at, err := f.dates.parse(strings.Join(words[:n], " "), line)
		if err == nil {
			return at, words[n], nil
		}
		if hint.Of(err) != "" {
			first = err
		}
	}
	switch {
	case first != nil:
		return at, "", first
	case log.at.IsZero():
		return at, "", errors.New("it has no date, and none before it")
	case len(words) == 0:
		return at, "", errors.New("it names no filesystem")
	}
	return log.at, words[0], nil
}

// dfFree reads what is available; some systems count what root has taken of what is kept
// back for it as less than nothing.
func dfFree(cell string, block unit) (float64, error) {
	number, less := strings.CutPrefix(cell, "-")
	v, err := dfBytes(number, block)
	if less {
		v = -v
	}
	return v, err
}

// dfBytes reads a number of df, which writes no groups of digits.
func dfBytes(cell string, block unit) (float64, error) {
	v, _, err := (&numerals{}).amount(strings.Replace(cell, ",", ".", 1), block)
	return v, err
}
