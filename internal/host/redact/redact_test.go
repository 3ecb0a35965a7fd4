package redact

import (
	"strings"
	"testing"
)

func TestFileRedactsPasswordsAndKeepsTheRest(t *testing.T) {
	for _, tt := range []struct{ name, file, in, want string }{
		{"option file", "/etc/mysql/my.cnf",
			"# comment\r\n[client]\r\nuser = root\r\npassword = \"a#b c\" # old one\r\n\r\n[mysqld]\r\nold_passwords=0\r\n",
			"# comment\r\n[client]\r\nuser = root\r\npassword = ***\r\n\r\n[mysqld]\r\nold_passwords=0\r\n"},
		{"no newline at the end", "/root/.my.cnf", "[client]\npassword=s3cret", "[client]\npassword=***"},
		{"commented out", "/root/.my.cnf", "#password=s3cret\n  ; password = s3cret\n", "#password=***\n  ; password = ***\n"},
		{"abbreviated and loose", "/root/.my.cnf", "pass=s3cret\nloose-password = s3cret\npassword1=s3cret\n", "pass=***\nloose-password = ***\npassword1=***\n"},
		{"a quote inside", "/root/.my.cnf", "password=\"s3\", cret\"\n", "password=***\n"},
		{"no value", "/root/.my.cnf", "[client]\npassword\npassword=\nuser=a\n", "[client]\npassword\npassword=\nuser=a\n"},
		{"galera", "/etc/mysql/galera.cnf",
			"wsrep_sst_auth=sst:s3cret\nwsrep_provider_options=\"gcache.size=1G; socket.ssl_password=s3cret; socket.ssl_password_file=/a\"\nwsrep_node_name=a\n",
			"wsrep_sst_auth=***\nwsrep_provider_options=\"gcache.size=1G; socket.ssl_password=***; socket.ssl_password_file=/a\"\nwsrep_node_name=a\n"},
		{"settings about passwords", "/etc/my.cnf",
			"validate_password.policy=STRONG\ndefault_password_lifetime=0\nplugin_load_add=simple_password_check\nssl_key=/etc/key.pem\ninnodb_ft_min_token_size=3\nperformance_schema=ON\n",
			"validate_password.policy=STRONG\ndefault_password_lifetime=0\nplugin_load_add=simple_password_check\nssl_key=/etc/key.pem\ninnodb_ft_min_token_size=3\nperformance_schema=ON\n"},
		{"keys", "/etc/my.cnf", "s3_access_key=AKIA\ns3-secret-key = s3cret\nhashicorp-key-management-token=\"s3cret\"\nfile_key_management_filekey=s3cret\nfile_key_management_filename=/a\n",
			"s3_access_key=***\ns3-secret-key = ***\nhashicorp-key-management-token=***\nfile_key_management_filekey=***\nfile_key_management_filename=/a\n"},
		{"conninfo", "/data/postgresql.auto.conf",
			"primary_conninfo = 'user=rep password=s3cret host=10.0.0.1 sslmode=require' # note\npassword_encryption = 'scram-sha-256'\n",
			"primary_conninfo = 'user=rep password=*** host=10.0.0.1 sslmode=require' # note\npassword_encryption = 'scram-sha-256'\n"},
		{"conninfo, last", "/data/postgresql.conf", "primary_conninfo = 'host=a password=s3cret'\nport = 1\n", "primary_conninfo = 'host=a password=***'\nport = 1\n"},
		{"conninfo, doubled quotes", "/data/postgresql.conf", "primary_conninfo = 'host=a password=''s3 cret'' user=b'\n", "primary_conninfo = 'host=a password=''***'' user=b'\n"},
		{"conninfo, backslashes", "/data/postgresql.conf", "primary_conninfo = 'host=a password=s3\\ cret user=b'\nport=1\n", "primary_conninfo = 'host=a password=***\nport=1\n"},
		{"conninfo, address", "/data/recovery.conf", "primary_conninfo='postgres://rep:s3/cr@et@10.0.0.1:5432/x?sslmode=require'\n", "primary_conninfo='postgres://rep:***@10.0.0.1:5432/x?sslmode=require'\n"},
		{"conninfo, address with a parameter", "/data/recovery.conf", "c='postgresql://h/x?user=a&password=s3cret&sslmode=require'\n", "c='postgresql://h/x?user=a&password=***&sslmode=require'\n"},
		{"passphrase command", "/data/postgresql.conf", "ssl_passphrase_command = 'echo s3cret'\nssl_passphrase_command_supports_reload = on\nssl_passphrase_command 'echo s3cret'\n",
			"ssl_passphrase_command = '***'\nssl_passphrase_command_supports_reload = on\nssl_passphrase_command '***'\n"},
		{"archive command", "/data/postgresql.conf", "archive_command = 'AWS_SECRET_ACCESS_KEY=s3cret aws s3 cp %p s3://b/%f'\nrestore_command = 'sshpass -p s3cret scp a:%f %p'\n",
			"archive_command = 'AWS_SECRET_ACCESS_KEY=***'\nrestore_command = 'sshpass -p *** scp a:%f %p'\n"},
		{"pg_hba", "/data/pg_hba.conf", "host all all 0.0.0.0/0 ldap ldapserver=a ldapbindpasswd=s3cret ldapprefix=\"c\"\nhost all all all radius radiussecrets=\"s3cret\"\nhost a b all password\nlocal all all scram-sha-256\n",
			"host all all 0.0.0.0/0 ldap ldapserver=a ldapbindpasswd=*** ldapprefix=\"c\"\nhost all all all radius radiussecrets=\"***\"\nhost a b all password\nlocal all all scram-sha-256\n"},
		{"pgpass", "/root/.pgpass", "# note\nh:5432:db:u:s3:cr\\:et\r\na\\:b:1:*:u:s3cret\ns3cret\n\n", "# note\nh:5432:db:u:***\r\na\\:b:1:*:u:***\n***\n\n"},
		{"proxysql", "/etc/proxysql.cnf",
			"admin_variables=\n{\n\tadmin_credentials=\"admin:s3cret;r:s3cret\"\n\tmysql_ifaces=\"0.0.0.0:6032\"\n}\nmysql_users: ( { username = \"u\" , password = \"s3cret\" , default_hostgroup = 0 } )\n\tmonitor_password=\"s3 \\\" cret\"\n password = \"s3\" \"cret\"\n",
			"admin_variables=\n{\n\tadmin_credentials=\"***\"\n\tmysql_ifaces=\"0.0.0.0:6032\"\n}\nmysql_users: ( { username = \"u\" , password = \"***\" , default_hostgroup = 0 } )\n\tmonitor_password=\"***\"\n password = \"***\"\n"},
		{"mongod", "/etc/mongod.conf",
			"net:\n  tls:\n    certificateKeyFilePassword: s3cret # x\n    certificateKeyFile: /a.pem\n    clusterPassword: \"s3 cret\"   # y\nsecurity:\n  keyFile: /k\n  ldap: {bind: {queryPassword: s3cret}}\n  ldap2:\n    bind:\n      queryPassword: |\n        s3\n        cret\n      queryUser: a\n",
			"net:\n  tls:\n    certificateKeyFilePassword: ***\n    certificateKeyFile: /a.pem\n    clusterPassword: \"***\"   # y\nsecurity:\n  keyFile: /k\n  ldap: {bind: {queryPassword: ***}}\n  ldap2:\n    bind:\n      queryPassword: ***\n        ***\n        ***\n      queryUser: a\n"},
		{"yaml, next line", "/etc/mongod.conf", "  queryPassword:\n    s3cret\n  user: a\n", "  queryPassword:\n    ***\n  user: a\n"},
		{"json", "/etc/x.json", "{\"password\": \"s3 \\\" cret\", \"a\": 1}\n{\"clientSecret\":\"s3cret\",\"a\":[\"--password\", \"s3cret\"]}\n", "{\"password\": \"***\", \"a\": 1}\n{\"clientSecret\":\"***\",\"a\":[\"--password\", \"***\"]}\n"},
		{"unit", "/etc/systemd/system/x.service",
			"[Service]\nEnvironment=\"MYSQL_PASSWORD=s3 cret\" A=b\nEnvironment=PGPASSWORD=s3cret A=b\nExecStart=/usr/bin/x --password=s3cret --user=a\nExecStartPre=/bin/mkdir -p /var/run/mysqld\nExecStop=/usr/bin/mysqladmin -uroot -ps3cret shutdown\nExecReload=/usr/bin/mongo -u a -p s3cret --eval x\n",
			"[Service]\nEnvironment=\"MYSQL_PASSWORD=***\" A=b\nEnvironment=PGPASSWORD=*** A=b\nExecStart=/usr/bin/x --password=*** --user=a\nExecStartPre=/bin/mkdir -p /var/run/mysqld\nExecStop=/usr/bin/mysqladmin -uroot -p*** shutdown\nExecReload=/usr/bin/mongo -u a -p *** --eval x\n"},
		{"private key", "/etc/k.pem", "-----BEGIN RSA PRIVATE KEY-----\ns3cret\ns3cret\n-----END RSA PRIVATE KEY-----\nx\n", "-----BEGIN RSA PRIVATE KEY-----\n***\n***\n-----END RSA PRIVATE KEY-----\nx\n"},
		{"init file", "/etc/init.sql", "CREATE USER a IDENTIFIED BY 's3''cret' REPLACE 's3cret';\nALTER ROLE b PASSWORD 's3cret' LOGIN;\nSET PASSWORD FOR 'a'@'b' = PASSWORD('s3cret');\n",
			"CREATE USER a IDENTIFIED BY '***';\nALTER ROLE b PASSWORD '***' LOGIN;\nSET PASSWORD FOR 'a'@'b' = '***');\n"},
		{"login path", "/root/.mylogin.cnf", "\x00\x01", "***"},
		{"in a container", "/proc/12/root/root/.my.cnf", "password=s3cret\n", "password=***\n"},
		{"proc", "/proc/12/status", "password=kept\n", "password=kept\n"},
		{"sys", "/sys/module/x/parameters/password", "password=kept\n", "password=kept\n"},
		{"environ", "/proc/12/environ", "LD_PRELOAD=/usr/lib/libjemalloc.so.2\x00MYSQL_ROOT_PASSWORD=s3cret\x00X=s3cret\x00MYSQLD_OPTS=--password=s3cret --port=1\x00E=\x00",
			"LD_PRELOAD=/usr/lib/libjemalloc.so.2\x00MYSQLD_OPTS=--password=*** --port=1\x00"},
		{"environ in a container's proc", "/proc/12/root/proc/3/environ", "X=s3cret\x00HOME=/root", "HOME=/root"},
	} {
		if got := string(File(tt.file, []byte(tt.in))); got != tt.want {
			t.Errorf("%s:\n got %q\nwant %q", tt.name, got, tt.want)
		}
	}
}

func TestCommandLine(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"mysqld|--datadir=/d|--port=3306|", "mysqld|--datadir=/d|--port=3306|"},
		{"mysql|-uroot|-ps3cret|db|", "mysql|-uroot|-p***|db|"},
		{"mysql|-BNps3cret|", "mysql|-BNp***|"},
		{"mysql|-p|db|", "mysql|-p|db|"},
		{"mysql|--password=s3 cret|--port=1|", "mysql|--password=***|--port=1|"},
		{"mongo|--password|s3cret|-u|a|", "mongo|--password|***|-u|a|"},
		{"mongo|-p|s3cret|", "mongo|-p|***|"},
		{"mongod|--tlsCertificateKeyFilePassword|s3cret|--port|1|", "mongod|--tlsCertificateKeyFilePassword|***|--port|1|"},
		{"mongosh|mongodb://u:s3cret@h/x|", "mongosh|mongodb://u:***@h/x|"},
		{"postgres|-D|/d|-p5433|", "postgres|-D|/d|-p5433|"},
		{"postgres|-p|5433|-c|primary_conninfo=host=a password=s3cret|", "postgres|-p|5433|-c|primary_conninfo=host=a password=***|"},
		{"sh|-c|PGPASSWORD=s3cret psql -h a|", "sh|-c|PGPASSWORD=*** psql -h a|"},
		{"sh|-c|mysql -uroot -p's3 cret' -e x|", "sh|-c|mysql -uroot -p*** -e x|"},
		{"sudo|mysqldump|-ps3cret|", "sudo|mysqldump|-p***|"},
		{"env|MYSQL_PWD=s3cret|mysql|", "env|MYSQL_PWD=***|mysql|"},
		{"curl|-u|a:s3cret|http://h/|", "curl|-u|a:***|http://h/|"},
		{"sysbench|--mysql-password=s3cret|--mysql-user=a|run|", "sysbench|--mysql-password=***|--mysql-user=a|run|"},
		{"pt-archiver|--source|h=a,u=b,p=kept|", "pt-archiver|--source|h=a,u=b,p=***|"},
		{"postgres: checkpointer ", "postgres: checkpointer "},
		{"mkdir|-p|/var/run/mysqld|", "mkdir|-p|/var/run/mysqld|"},
		{"x|password|y|", "x|password|y|"},
	} {
		in := strings.ReplaceAll(tt.in, "|", "\x00")
		got := strings.ReplaceAll(string(File("/proc/7/cmdline", []byte(in))), "\x00", "|")
		if got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.in, got, tt.want)
		}
	}
}

func TestOutput(t *testing.T) {
	for _, tt := range []struct{ argv, in, want string }{
		{"postgres -C ssl_passphrase_command -D /d", "echo s3cret\n", "***\n"},
		{"postgres -C primary_conninfo", "user=a password=s3cret host=b\n", "user=a password=*** host=b\n"},
		{"postgres -C password_encryption", "md5\n", "md5\n"},
		{"my_print_defaults client", "--user=a\n--password=s3 cret\n", "--user=a\n--password=***\n"},
		{"systemctl show x", "Environment=MYSQL_PWD=s3cret \"B_PASSWORD=s3 cret\" C=d\n", "Environment=MYSQL_PWD=*** \"B_PASSWORD=***\" C=d\n"},
		{"zfs get -Hp all", "secret\tkeyformat\tpassphrase\t-\ntank/password\ttype\tfilesystem\t-\n", "secret\tkeyformat\tpassphrase\t-\ntank/password\ttype\tfilesystem\t-\n"},
		{"zfs get -j all", `{"datasets":{"tank/secret":{"name":"tank/secret","keyformat":{"value":"passphrase"}}}}`, `{"datasets":{"tank/secret":{"name":"tank/secret","keyformat":{"value":"passphrase"}}}}`},
	} {
		if got := string(Output(strings.Fields(tt.argv), []byte(tt.in))); got != tt.want {
			t.Errorf("%s:\n got %q\nwant %q", tt.argv, got, tt.want)
		}
	}
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"Access denied for user 'a'@'b' (using password: YES)":       "Access denied for user 'a'@'b' (using password: YES)",
		"dial a:s3cret@tcp(127.0.0.1:3306)/x: refused":               "dial a:***@tcp(127.0.0.1:3306)/x: refused",
		"connect to `postgres://a:s3@cret@h/db`: refused":            "connect to `postgres://a:***@h/db`: refused",
		"open /srv/password: no such file":                           "open /srv/password: no such file",
		"http://h:80/x":                                              "http://h:80/x",
		"Authorization: Bearer s3cret":                               "Authorization: Bearer ***",
		"Authorization: Basic s3cret":                                "Authorization: Basic ***",
		`password authentication failed for user "x"`:                `password authentication failed for user "x"`,
		"CHANGE MASTER TO MASTER_HOST='a', MASTER_PASSWORD='s3cret'": "CHANGE MASTER TO MASTER_HOST='a', MASTER_PASSWORD='***'",
	} {
		if got := Text(in); got != want {
			t.Errorf("%s:\n got %s\nwant %s", in, got, want)
		}
	}
}

func TestRows(t *testing.T) {
	null := "\x00"
	for _, tt := range []struct{ name, in, want string }{
		{"variables", "Variable_name|Value;report_password|s3cret;wsrep_sst_auth|a:s3cret;old_passwords|0;port|3306", "Variable_name|Value;report_password|***;wsrep_sst_auth|***;old_passwords|0;port|3306"},
		{"pg_settings", "name|setting|unit|boot_val|source;ssl_passphrase_command|echo s3cret|" + null + "||default;primary_conninfo|password=s3cret|" + null + "||file",
			"name|setting|unit|boot_val|source;ssl_passphrase_command|***|" + null + "||default;primary_conninfo|password=***|" + null + "||file"},
		{"pg_file_settings", "sourcefile|sourceline|lower|setting|applied;/p|12|ssl_passphrase_command|echo s3cret|t", "sourcefile|sourceline|lower|setting|applied;/p|12|ssl_passphrase_command|***|t"},
		{"aliases", "a|source|b|c;report_password|file|s3cret|s3cret;api_token|file|kept|kept", "a|source|b|c;report_password|file|***|***;api_token|file|kept|kept"},
		{"two columns", "lower|coalesce;report_password|s3cret;port|1", "lower|coalesce;report_password|***;port|1"},
		{"proxysql", "variable_name|variable_value;mysql-monitor_password|s3cret;admin-admin_credentials|a:s3cret", "variable_name|variable_value;mysql-monitor_password|***;admin-admin_credentials|***"},
		{"users", "User|Password|password_expired|authentication_string;a|*AB|N|s3cret", "User|Password|password_expired|authentication_string;a|***|N|***"},
		{"processes", "Id|Info;1|CREATE USER a IDENTIFIED BY 's3cret';2|SELECT 'password'", "Id|Info;1|CREATE USER a IDENTIFIED BY '***';2|SELECT 'password'"},
		{"tables", "table_name|size;password_resets|12;secrets|13", "table_name|size;password_resets|12;secrets|13"},
		{"variable", "@@report_password;s3cret", "@@report_password;***"},
		{"a storage engine about itself", "Type|Name|Status;InnoDB||\nLATEST DETECTED DEADLOCK\nMySQL thread id 8, query id 5 localhost root\nUPDATE users SET mail = 'joe@example.com' WHERE id = 4711\nselect 4712\n" +
			" 0: len 5, hex 6a6f65, asc joe,,\nTRANSACTIONS\nTrx id counter 815\nHistory list length 12\nLOG\nLog sequence number 4 1000\nLast checkpoint at  4 400\r\n",
			"Type|Name|Status;InnoDB||Trx id counter 815\nHistory list length 12\nLog sequence number 4 1000\nLast checkpoint at  4 400\r\n"},
		{"a storage engine in lines", "Type|Name|Status;performance_schema|events_waits_current.size|176", "Type|Name|Status;performance_schema|events_waits_current.size|176"},
	} {
		columns, values := rowsOf(tt.in)
		got := Rows(columns, values)
		wantColumns, want := rowsOf(tt.want)
		if join(wantColumns, want) != join(columns, got) {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, join(columns, got), tt.want)
		}
		if join(columns, values) != tt.in {
			t.Errorf("%s: the given rows were changed", tt.name)
		}
	}
}

func rowsOf(s string) (columns []string, values [][]*string) {
	for i, line := range strings.Split(s, ";") {
		cells := strings.Split(line, "|")
		if i == 0 {
			columns = cells
			continue
		}
		row := make([]*string, len(cells))
		for j := range cells {
			if cells[j] != "\x00" {
				row[j] = &cells[j]
			}
		}
		values = append(values, row)
	}
	return columns, values
}

func join(columns []string, values [][]*string) string {
	lines := []string{strings.Join(columns, "|")}
	for _, row := range values {
		cells := make([]string, len(row))
		for j, cell := range row {
			cells[j] = "\x00"
			if cell != nil {
				cells[j] = *cell
			}
		}
		lines = append(lines, strings.Join(cells, "|"))
	}
	return strings.Join(lines, ";")
}
