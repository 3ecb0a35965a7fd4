package host

import (
	_ "embed"
	"slices"
	"strings"
)

//go:embed commands.txt
var readingCommandList string

// commandPattern is one line of the list.
type commandPattern struct {
	words []string // each with its alternatives between "|"; "?" for any argument that is no option
	more  bool     // the line ends with "...": further arguments are allowed
	not   []string // options that are not allowed
}

func readingCommands() []commandPattern { return parseCommands(readingCommandList) }

func parseCommands(list string) []commandPattern {
	var patterns []commandPattern
	for line := range strings.Lines(list) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		var p commandPattern
		if i := slices.Index(words, "not"); i >= 0 {
			words, p.not = words[:i], words[i+1:]
		}
		if words[len(words)-1] == "..." {
			words, p.more = words[:len(words)-1], true
		}
		p.words = words
		patterns = append(patterns, p)
	}
	return patterns
}

// match tells whether the pattern allows a command. name is argv[0]
// without its directory.
func (p commandPattern) match(name string, args []string) bool {
	if len(args) < len(p.words)-1 || (len(args) > len(p.words)-1 && !p.more) {
		return false
	}
	for i, word := range p.words {
		got := name
		if i > 0 {
			got = args[i-1]
		}
		if !matchWord(word, got) {
			return false
		}
	}
	for _, arg := range args {
		if strings.ContainsRune(arg, 0) || slices.ContainsFunc(p.not, func(option string) bool { return isOption(arg, option) }) {
			return false
		}
	}
	return true
}

func matchWord(word, got string) bool {
	if word == "?" {
		return got != "" && !strings.HasPrefix(got, "-") && !strings.Contains(got, "=")
	}
	return slices.Contains(strings.Split(word, "|"), got)
}

// isOption tells whether a command could take arg for the option: getopt_long accepts
// abbreviations of long options, and short ones may be bundled.
func isOption(arg, option string) bool {
	if long, ok := strings.CutPrefix(option, "--"); ok {
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		return strings.HasPrefix(arg, "--") && name != "" && strings.HasPrefix(long, name)
	}
	return len(arg) > 1 && arg[0] == '-' && arg[1] != '-' && strings.Contains(arg, option[1:])
}

// ShellWord quotes a word of a command for sh if it needs quotes.
func ShellWord(word string) string {
	special := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_-./:=@%+,", r)
	}
	if word != "" && !strings.ContainsFunc(word, special) {
		return word
	}
	return ShellQuoted(word)
}

// ShellQuoted quotes a word of a command for sh, whatever is in it.
func ShellQuoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
