package backup

import (
	"strings"
	"testing"

	"filippo.io/age"

	"plumb/internal/hint"
)

// A file that has no key which can be read here is refused for what it is, and tells nothing of what is in it.
func TestKeysThatCannotBeRead(t *testing.T) {
	for text, want := range map[string]string{
		"age-encryption.org/v1\n-> scrypt":                   "encrypted itself",
		"\n-----BEGIN AGE ENCRYPTED FILE-----\nYWdl\n":       "encrypted itself",
		"# of a token\nAGE-PLUGIN-YUBIKEY-1QQQQQ\n":          "of an age plugin",
		"AGE-PLUGIN-YUBIKEY-1QQQQQ\n":                        "of an age plugin",
		"AGE-SECRET-KEY-1QQQQQ\n":                            "no key in it",
		"age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrjqqqq": "no key in it",
	} {
		if _, err := Identities([]byte(text)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "QQQQQ") || hint.Of(err) == "" {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// age makes nothing for post-quantum keys and others at once: that is found before anything is sent.
func TestRecipientsThatDoNotMix(t *testing.T) {
	quantum, err := age.GenerateHybridIdentity()
	if err != nil {
		t.Fatal(err)
	}
	plain, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	one, other := quantum.Recipient().String(), plain.Recipient().String()
	if _, err := Recipients(one, other); err == nil || !strings.Contains(hint.Of(err), "age1pq1") {
		t.Errorf("both: %v", err)
	}
	for _, words := range [][]string{{one}, {other}, {one, one}} {
		if all, err := Recipients(words...); err != nil || len(all) != len(words) {
			t.Errorf("%d: %v", len(words), err)
		}
	}
}
