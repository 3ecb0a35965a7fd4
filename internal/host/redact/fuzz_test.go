package redact

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// carriers put a secret where servers and their tools keep one, escaped as
// each of them wants it. They give "" for a secret that cannot stand there.
func carriers() map[string]func(secret string) (name, text string) {
	conninfo := func(s string) string { return strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) }
	line := func(s string) bool { return !strings.ContainsAny(s, "\n\r\x00\f\v") && strings.TrimSpace(s) == s }
	word := func(s string) bool { return line(s) && !strings.ContainsAny(s, " \t'\"`\\") }
	when := func(ok bool, name, text string) (string, string) {
		if !ok {
			return "", ""
		}
		return name, text
	}
	return map[string]func(string) (string, string){
		"option file": func(s string) (string, string) {
			return when(line(s), "/etc/my.cnf", "[client]\npassword="+s+"\nport=1\n")
		},
		"option file, quoted": func(s string) (string, string) {
			return when(line(s), "/etc/my.cnf", "password = \""+s+"\" # x\nport=1\n")
		},
		"conninfo in postgresql.conf": func(s string) (string, string) {
			quoted := strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace("host=a password='" + conninfo(s) + "' user=b")
			return when(line(s), "/d/postgresql.conf", "primary_conninfo = '"+quoted+"'\nport = 1\n")
		},
		"conninfo, plain": func(s string) (string, string) {
			return when(word(s), "/d/postgresql.conf", "primary_conninfo = 'host=a password="+s+" user=b'\n")
		},
		"pgpass": func(s string) (string, string) {
			return when(line(s), "/root/.pgpass", "h:1:*:u:"+strings.NewReplacer(`\`, `\\`, `:`, `\:`).Replace(s)+"\n")
		},
		"address": func(s string) (string, string) {
			return when(word(s) && !strings.ContainsAny(s, "<>"), "/etc/x.conf", "uri = mongodb://user:"+s+"@h:1/x?a=b\n")
		},
		"json": func(s string) (string, string) {
			quoted, _ := json.Marshal(s)
			return when(utf8.ValidString(s), "/etc/x.json", "{\"a\":1,\"password\": "+string(quoted)+", \"b\":2}\n")
		},
		"yaml": func(s string) (string, string) {
			return when(line(s), "/etc/mongod.conf", "net:\n  clusterPassword: '"+strings.ReplaceAll(s, "'", "''")+"'\n  b: c\n")
		},
		"proxysql": func(s string) (string, string) {
			return when(line(s), "/etc/proxysql.cnf", "users=({username=\"a\",password=\""+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s)+"\",x=1})\n")
		},
		"argument": func(s string) (string, string) {
			return when(!strings.Contains(s, "\x00"), "/proc/1/cmdline", "mysql\x00-ua\x00--password="+s+"\x00db\x00")
		},
		"short argument": func(s string) (string, string) {
			return when(!strings.ContainsAny(s, "\x00\n"), "/proc/1/cmdline", "mysql\x00-ua\x00-p"+s+"\x00db\x00")
		},
		"next argument": func(s string) (string, string) {
			return when(!strings.Contains(s, "\x00") && !strings.HasPrefix(s, "-"), "/proc/1/cmdline", "mongod\x00--password\x00"+s+"\x00--port\x001\x00")
		},
		"environment": func(s string) (string, string) {
			return when(!strings.Contains(s, "\x00"), "/proc/1/environ", "A=b\x00MYSQL_ROOT_PASSWORD="+s+"\x00")
		},
		"unit": func(s string) (string, string) {
			return when(line(s), "/etc/x.service", "Environment=\"DB_PASSWORD="+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s)+"\" A=b\n")
		},
		"shell": func(s string) (string, string) {
			return when(word(s), "/etc/x.sh", "mysqldump -uroot -p"+s+" db > /x\n")
		},
		"sql": func(s string) (string, string) {
			return when(line(s), "/etc/init.sql", "CREATE USER a@b IDENTIFIED WITH caching_sha2_password BY '"+strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(s)+"';\nSELECT 1;\n")
		},
	}
}

func FuzzSecretsNeverSurvive(f *testing.F) {
	for _, s := range []string{"s3cretS3CRET", "s3 cret S3CRET", `"s3cret S3CRET"`, `s3'cret'S3CRET`, `s3\cret S3CRET\`, "#s3cret;S3CRET", "pässwörd-ÄÖÜ", "a@b:c/d?e&f=gh", "***s3cretS3", "=s3cret=S3CRET", "-p s3cret S3CRET", "$(s3cret)S3CRET", "''s3cret''S3CRET''", "{s3cret}[S3CRET]", "password=s3cretS3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, secret string) {
		for kind, carrier := range carriers() {
			name, in := carrier(secret)
			if name == "" {
				continue
			}
			_, without := carrier("Zq9")
			out := string(File(name, []byte(in)))
			if part := survivor(secret, out, without); part != "" {
				t.Errorf("%s: %q of %q survives in %q", kind, part, secret, out)
			}
			if again := string(File(name, []byte(out))); again != out {
				t.Errorf("%s: redacted twice: %q, once: %q", kind, again, out)
			}
		}
	})
}

// survivor finds six bytes of a secret that are in out, though not in the text
// that surrounds it.
func survivor(secret, out, without string) string {
	for i := 0; i+6 <= len(secret); i++ {
		part := secret[i : i+6]
		if strings.Contains(out, part) && !strings.Contains(without, part) && !strings.Contains(part, Mark) {
			return part
		}
	}
	return ""
}

func FuzzFile(f *testing.F) {
	for _, carrier := range carriers() {
		name, in := carrier("s3cret")
		f.Add(name, []byte(in))
	}
	f.Add("/etc/x", []byte("password='a\nb' key: |\n  x\n-----BEGIN PRIVATE KEY-----\n"))
	f.Fuzz(func(t *testing.T, name string, in []byte) {
		before := string(in)
		once := File(name, in)
		if string(in) != before {
			t.Fatal("the given bytes were changed")
		}
		Output([]string{"x", name}, in)
		cell := string(in)
		Rows([]string{name, "value"}, [][]*string{{&name, &cell}, {&cell}})
		if strings.Count(string(once), "\n") > strings.Count(before, "\n") {
			t.Errorf("lines were added: %q to %q", before, once)
		}
	})
}

func TestRandomSecretsDoNotSurvive(t *testing.T) {
	const seed = 7
	random := rand.New(rand.NewPCG(seed, seed))
	signs := []rune("abcXYZ019 '\"\\`$#;:,=@/{}[]()&?|<>-_*%!~^+.ä\t")
	for range 3000 {
		secret := make([]rune, 8+random.IntN(12))
		for i := range secret {
			secret[i] = signs[random.IntN(len(signs))]
		}
		for kind, carrier := range carriers() {
			name, in := carrier(string(secret))
			if name == "" {
				continue
			}
			_, without := carrier("Zq9")
			out := string(File(name, []byte(in)))
			if part := survivor(string(secret), out, without); part != "" {
				t.Fatalf("seed %d: %s: %q of %q survives:\n%q\n%q", seed, kind, part, string(secret), in, out)
			}
			if again := string(File(name, []byte(out))); again != out {
				t.Fatalf("seed %d: %s: redacted twice: %q, once: %q", seed, kind, again, out)
			}
		}
	}
}
