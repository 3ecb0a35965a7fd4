package outlet

import "testing"

func TestKeyPairNamesTheFileThatIsAlone(t *testing.T) {
	for _, c := range [][2]string{{"cert.pem", ""}, {"", "key.pem"}} {
		want := "read " + c[0] + c[1] + ": a certificate and its key go together"
		if _, err := keyPair(c[0], c[1]); err == nil || err.Error() != want {
			t.Errorf("%q: %v", c, err)
		}
	}
}
