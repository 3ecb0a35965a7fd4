package redact

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// tool is a program that takes a secret by a flag that says nothing of it.
type tool struct {
	names    []string
	next     []string // the next word is or holds the secret
	attached []string // the rest of the word is or holds it
	after    string   // it begins after this, which follows the user's name; "" when all is secret
}

// tools lists the programs that people run on database hosts, for copies and
// archives. A key of openssl enc is given with -k (a passphrase) or -K.
func tools() []tool {
	return []tool{
		{names: []string{"openssl"}, next: []string{"-k", "-K"}},
		{names: []string{"lftp"}, next: []string{"-u", "--user"}, attached: []string{"-u", "--user="}, after: ","},
		{names: []string{"smbclient", "smbget", "rpcclient", "smbcacls", "smbtree"}, next: []string{"-U", "--user"}, attached: []string{"-U", "--user="}, after: "%"},
		{names: []string{"zip", "unzip", "zipcloak"}, next: []string{"-P"}, attached: []string{"-P"}},
		{names: []string{"7z", "7za", "7zr", "7zz"}, attached: []string{"-p"}},
		{names: []string{"rar", "unrar"}, attached: []string{"-hp", "-p"}},
		{names: []string{"redis-cli", "valkey-cli", "keydb-cli"}, next: []string{"-a"}},
		{names: []string{"ldapsearch", "ldapmodify", "ldapadd", "ldapdelete", "ldappasswd", "ldapwhoami"}, next: []string{"-w"}, attached: []string{"-w"}},
		{names: []string{"sqlcmd", "bcp"}, next: []string{"-P"}, attached: []string{"-P"}},
	}
}

var toolNames = regexp.MustCompile(`openssl|lftp|smb|rpcclient|zip|7z|rar|redis-cli|valkey-cli|keydb-cli|ldap|sqlcmd|bcp`)

// namesTool tells whether one of them may stand in a text.
func namesTool(lower string) bool { return toolNames.MatchString(lower) }

// toolLine follows the words of a command line.
type toolLine struct{ now *tool }

// watch takes a word that names a program. A flag after it is that program's,
// until the command ends.
func (l *toolLine) watch(word string) {
	if strings.HasPrefix(word, "-") {
		return
	}
	if slices.Contains([]string{"|", "||", "&&", "&"}, word) {
		l.now = nil
		return
	}
	base := path.Base(strings.TrimRight(word, ";"))
	for _, t := range tools() {
		if slices.Contains(t.names, base) {
			l.now = &t
		}
	}
	if strings.HasSuffix(word, ";") {
		l.now = nil
	}
}

// mask gives a word without the secret that the program in force takes with
// it, or after the word before.
func (l *toolLine) mask(word, before string) (masked string, ok bool) {
	if l.now == nil || word == "" {
		return "", false
	}
	if slices.Contains(l.now.next, before) || l.now.bundled(before) {
		return l.now.secret(word)
	}
	for _, flag := range l.now.attached {
		if rest, ok := strings.CutPrefix(word, flag); ok && rest != "" {
			masked, ok := l.now.secret(strings.TrimLeft(rest, `"'`))
			return flag + masked, ok
		}
	}
	return "", false
}

// bundled tells whether a word is a bundle of flags that ends with the one
// for which the next word is the secret: zip -rP.
func (t *tool) bundled(word string) bool {
	return len(word) > 2 && slices.Contains(t.names, "zip") && strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--") && strings.HasSuffix(word, "P")
}

func (t *tool) secret(word string) (string, bool) {
	if t.after == "" {
		return Mark, true
	}
	user, pw, ok := strings.Cut(word, t.after)
	if !ok || pw == "" {
		return "", false
	}
	return user + t.after + Mark, true
}

// serverDSN is how Percona's tools name a server: h=host,u=user,p=password,
// with the parts in any order.
var serverDSN = regexp.MustCompile(`(^|[\s"'=])((?:[A-Za-z]=[^,\s"']*,)*)p=[^,\s"']+((?:,[A-Za-z]=[^,\s"']*)*)`)

// redactDSNs takes the password out of such names.
func redactDSNs(s string) string {
	if !strings.Contains(s, "p=") {
		return s
	}
	return serverDSN.ReplaceAllStringFunc(s, func(found string) string {
		m := serverDSN.FindStringSubmatch(found)
		if m[2] == "" && m[3] == "" { // p= alone is any program's
			return found
		}
		return m[1] + m[2] + "p=" + Mark + m[3]
	})
}

// These are addresses that let everybody in who has them: a signature among
// their parameters (Azure's SAS, signed addresses of S3 and Google), and the
// hooks of chats.
var (
	signature   = regexp.MustCompile(`(?i)((?:^|[?&\s"'=])(?:sig|signature|x-amz-signature|x-amz-security-token|x-goog-signature)=)[^&\s"'<>]+`)
	slackHook   = regexp.MustCompile(`(?i)(https?://hooks\.slack(?:-gov)?\.com/[a-z]+/)[^\s"'<>]+`)
	discordHook = regexp.MustCompile(`(?i)(https?://(?:[a-z]+\.)?discord(?:app)?\.com/api/webhooks/)[^\s"'<>]+`)
	officeHook  = regexp.MustCompile(`(?i)(https?://[a-z0-9.-]+\.webhook\.office\.com/)[^\s"'<>]+`)
)

// redactLinks takes the secret part out of such addresses. A signature can
// also stand alone, as the token of a tool's setting: sv=…&sig=….
func redactLinks(s string) string {
	lower := strings.ToLower(s)
	if !strings.Contains(lower, "://") && !strings.Contains(lower, "sig") {
		return s
	}
	for _, l := range []*regexp.Regexp{signature, slackHook, discordHook, officeHook} {
		s = l.ReplaceAllString(s, "${1}"+Mark)
	}
	return s
}
